import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  bodyLimitOf,
  endpoints,
  largeBodyLimit,
  openApiDocument,
  type JsonSchema,
} from './index.ts'

const document = openApiDocument(endpoints, { version: '1.2.3', url: 'https://example.test' })

test('every body that a schema allows fits its limit, unless it has the largest limit', () => {
  for (const [group, members] of Object.entries(endpoints)) {
    for (const [name, endpoint] of Object.entries(members)) {
      const { requestBody } = document.paths[endpoint.path]![endpoint.method.toLowerCase()]!
      const schema = requestBody?.content['application/json']?.schema
      const limit = bodyLimitOf(endpoint)
      if (!schema || limit === largeBodyLimit) continue
      assert.ok(longestJson(schema) <= limit, `${group}.${name}: ${longestJson(schema)} > ${limit}`)
    }
  }
})

test('bodies of public endpoints are at most 64 KiB', () => {
  const all = Object.values(endpoints).flatMap((group) => Object.values(group))
  const limits = all.filter(({ requires }) => requires === 'public').map(bodyLimitOf)
  assert.ok(limits.length >= 4)
  assert.ok(limits.every((limit) => limit <= 64 * 1024))
})

/** Text that a schema bounds by a pattern, a format or a refinement only. */
const unstatedLength = 300
/** `\u` and four digits. */
const escapedLength = 6

/** The most bytes of a value of the schema as JSON. */
function longestJson(given: JsonSchema): number {
  const name = typeof given['$ref'] === 'string' ? given['$ref'].split('/').at(-1)! : undefined
  const schema = name === undefined ? given : document.components.schemas[name]!
  const choices = (schema['anyOf'] ?? schema['oneOf']) as JsonSchema[] | undefined
  if (choices) return Math.max(...choices.map(longestJson))
  const isBounded = ['pattern', 'format', 'enum', 'const'].some((key) => key in schema)
  switch (schema['type']) {
    case 'string':
      return escapedLength * Number(schema['maxLength'] ?? (isBounded ? unstatedLength : Infinity))
    case 'array':
      return (
        Number(schema['maxItems'] ?? Infinity) * (longestJson(schema['items'] as JsonSchema) + 1)
      )
    case 'object': {
      const { properties = {}, additionalProperties: rest } = schema
      const fields = Object.entries(properties as Record<string, JsonSchema>)
      const sizes = fields.map(([key, value]) => key.length + longestJson(value) + 4)
      if (typeof rest === 'object') sizes.push(64 * longestJson(rest as JsonSchema) * 2)
      return sizes.reduce((sum, size) => sum + size, 2)
    }
    default:
      return 32
  }
}
