"""From what a user wrote to JSON Schema and a compiled validator: arguments in, results out.

Everything here is built once, when an entry is registered. No error text carries a value the caller
sent, for any form of schema.
"""

from frontmcp.schema.annotations import output_type as output_type
from frontmcp.schema.inputs import Input as Input
from frontmcp.schema.inputs import input_from_json_schema as input_from_json_schema
from frontmcp.schema.inputs import input_from_model as input_from_model
from frontmcp.schema.inputs import input_from_shape as input_from_shape
from frontmcp.schema.issues import scrub as scrub
from frontmcp.schema.outputs import MISMATCH as MISMATCH
from frontmcp.schema.outputs import Output as Output
from frontmcp.schema.outputs import output_as_listed as output_as_listed
from frontmcp.schema.outputs import output_from_json_schema as output_from_json_schema
from frontmcp.schema.outputs import output_from_shape as output_from_shape
from frontmcp.schema.outputs import output_from_type as output_from_type
from frontmcp.schema.raw import JsonSchema as JsonSchema
from frontmcp.schema.raw import inline_references as inline_references
from frontmcp.schema.types import SchemaLike as SchemaLike
from frontmcp.schema.values import json_text as json_text
from frontmcp.schema.values import jsonable as jsonable
