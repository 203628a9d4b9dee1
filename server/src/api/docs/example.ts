import type { JsonSchema, OpenApiDocument, OpenApiOperation } from '@computer/contract'
import { resolve } from './schema-table.ts'

/** A short value that the schema accepts. */
export function exampleOf(document: OpenApiDocument, given: JsonSchema, name = ''): unknown {
  const schema = { ...resolve(document, given), ...given }
  if (Array.isArray(schema['examples'])) return schema['examples'][0]
  if ('default' in schema) return schema['default']
  if (Array.isArray(schema['enum'])) return schema['enum'][0]
  if ('const' in schema) return schema['const']
  const choices = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(choices)) return exampleOf(document, choices[0] as JsonSchema, name)
  const type = Array.isArray(schema['type']) ? schema['type'][0] : schema['type']
  switch (type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(propertiesOf(schema)).map(([key, property]) => [
          key,
          exampleOf(document, property, key),
        ]),
      )
    case 'array':
      return [exampleOf(document, (schema['items'] ?? {}) as JsonSchema, name)]
    case 'integer':
    case 'number':
      return numberFor(name, schema)
    case 'boolean':
      return true
    case 'string':
      return schema['format'] === 'date-time' ? '2026-01-31T12:00:00Z' : stringFor(name)
    default:
      return null
  }
}

/** A call that works after the reader replaces the ids and sets the API key. */
export function curlExample(
  document: OpenApiDocument,
  { method, path, operation }: { method: string; path: string; operation: OpenApiOperation },
): string {
  const valueOf = (place: string) =>
    operation.parameters
      .filter((parameter) => parameter.in === place && parameter.required)
      .map(
        ({ name, schema }) => [name, String(exampleOf(document, schema, name))] as [string, string],
      )
  const filled = valueOf('path').reduce(
    (result, [name, value]) => result.replace(`{${name}}`, value),
    path,
  )
  const query = new URLSearchParams(valueOf('query'))
  const url = `${document.servers[0]?.url ?? ''}${filled}${query.size > 0 ? `?${query}` : ''}`
  const schema = operation.requestBody?.content['application/json']?.schema
  const body = schema && JSON.stringify(requestExample(document, schema)).replaceAll("'", "'\\''")
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${url}'`,
    '  -H "authorization: Bearer $COMPUTER_API_KEY"',
    ...(body ? ["  -H 'content-type: application/json'", `  -d '${body}'`] : []),
  ].join(' \\\n')
}

/** The required fields; if there are none, the fields with defaults, else all fields. */
function requestExample(document: OpenApiDocument, given: JsonSchema): unknown {
  const schema = resolve(document, given)
  const required = (schema['required'] ?? []) as readonly string[]
  const properties = Object.entries(propertiesOf(schema))
  const mandatory = properties.filter(([key]) => required.includes(key))
  const defaulted = properties.filter(([, property]) => 'default' in property)
  const chosen = [mandatory, defaulted, properties].find((some) => some.length > 0) ?? []
  return Object.fromEntries(
    chosen.map(([key, property]) => [key, exampleOf(document, property, key)]),
  )
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>
}

const numbers: Readonly<Record<string, number>> = { x: 640, y: 400, width: 1280, height: 800 }

function numberFor(name: string, schema: JsonSchema): number {
  const low = typeof schema['minimum'] === 'number' ? schema['minimum'] : 0
  return numbers[name] ?? Math.max(low, 1)
}

const strings: Readonly<Record<string, string>> = {
  name: 'brave-otter',
  path: 'notes.txt',
  content: 'hello\n',
  text: 'hello',
  key: 'enter',
  keys: 'ctrl',
  command: 'uname',
  region: 'local',
  email: 'ada@example.com',
  mode: '0644',
}

function stringFor(name: string): string {
  return strings[name] ?? 'string'
}
