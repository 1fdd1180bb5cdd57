// The script of test_clients.py with the TypeScript SDK: node script.mjs v1|v2|v2-auto URL, or … COMMAND ARGUMENT…
// Prints what it saw as JSON.

const [version, ...target] = process.argv.slice(2);
const v1 = version === 'v1';
const from = name => import(`@modelcontextprotocol/${name}`);

const { Client } = v1 ? await from('sdk/client/index.js') : await from('client');
const { StdioClientTransport } = v1 ? await from('sdk/client/stdio.js') : await from('client/stdio');
const { StreamableHTTPClientTransport } = v1 ? await from('sdk/client/streamableHttp.js') : await from('client');
const schemas = v1 ? await from('sdk/types.js') : {};

const seen = { progress: [], asked: [] };
let toldOfChange;
const change = new Promise(resolve => (toldOfChange = resolve));

const client = new Client(
  { name: 'script', version: '1.0.0' },
  {
    capabilities: { elicitation: { form: {} } },
    ...(v1 ? {} : { versionNegotiation: { mode: version === 'v2-auto' ? 'auto' : 'legacy' } }),
    ...(v1 ? {} : { listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => toldOfChange() } } }),
  },
);
client.setRequestHandler(v1 ? schemas.ElicitRequestSchema : 'elicitation/create', async request => {
  seen.asked.push(request.params.message);
  return { action: 'accept', content: { sure: true } };
});
if (v1) client.setNotificationHandler(schemas.ToolListChangedNotificationSchema, () => toldOfChange());

const isUrl = target[0].startsWith('http');
await client.connect(
  isUrl
    ? new StreamableHTTPClientTransport(new URL(target[0]))
    : new StdioClientTransport({ command: target[0], args: target.slice(1), env: { ...process.env } }),
);

async function all(method, key) {
  const found = [];
  let cursor;
  do {
    const page = await client[method](cursor === undefined ? {} : { cursor });
    found.push(...page[key]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return found;
}

async function call(name, args, options) {
  const params = { name, arguments: args };
  return v1 ? client.callTool(params, undefined, options) : client.callTool(params, options);
}

seen.tools = (await all('listTools', 'tools')).map(each => each.name);
seen.resources = (await all('listResources', 'resources')).map(each => each.uri);
seen.templates = (await all('listResourceTemplates', 'resourceTemplates')).map(each => each.uriTemplate);
seen.prompts = (await all('listPrompts', 'prompts')).map(each => each.name);
await call('import_rows', { count: 3 }, { onprogress: update => seen.progress.push(update.progress) });
seen.structured = (await call('find_ticket', { id: 'T-1' })).structuredContent;
const refused = await call('refuse', {});
seen.error = [refused.isError, refused.content[0].text];
seen.nested = (await call('close_ticket', { id: 'T-1' })).structuredContent;
seen.elicited = (await call('delete_ticket', { id: 'T-1' })).content[0].text;
seen.awaited = (await call('take_long', {})).content[0].text;
seen.resource = (await client.readResource({ uri: 'desk://hours' })).contents[0].text;
seen.templated = JSON.parse((await client.readResource({ uri: 'tickets://T-7' })).contents[0].text);
const prompt = await client.getPrompt({ name: 'note', arguments: { id: 'T-1', tone: 'short' } });
seen.prompt = prompt.messages[0].content.text;
const ref = { type: 'ref/prompt', name: 'note' };
const completed = await client.complete({ ref, argument: { name: 'tone', value: 'l' } });
seen.completion = completed.completion.values;
await call('change_tools', {});
seen.changed = await Promise.race([
  change.then(() => true),
  new Promise(resolve => setTimeout(() => resolve(false), 10_000)),
]);
seen.protocol = v1 ? null : client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify(seen));
process.exit(0);
