import type { JsonSchema, OpenApiDocument } from '@computer/contract'
import { html, join, type Html } from './html.ts'

type Schemas = Readonly<Record<string, JsonSchema>>

/** The fields of an object, including those of unnamed objects in it. Named schemas are linked. */
export function fieldsTable(document: OpenApiDocument, schema: JsonSchema): Html {
  const rows = rowsOf(resolve(document, schema), '')
  if (rows.length === 0) return html`<p>${typeOf(schema)}</p>`
  return html`<table>
    ${join(rows)}
  </table> `
}

export function resolve(document: OpenApiDocument, schema: JsonSchema): JsonSchema {
  const name = referenceOf(schema)
  return name === null ? schema : (document.components.schemas[name] ?? {})
}

/** A type in a few words: `string`, `Machine[]`, `"a" | "b"`, `integer or null`. */
export function typeOf(schema: JsonSchema): Html {
  const name = referenceOf(schema)
  if (name !== null) return html`<a href="#schema-${name}">${name}</a>`
  if (Array.isArray(schema['enum'])) {
    return join(
      schema['enum'].map((value) => html`<code>${JSON.stringify(value)}</code>`),
      ' | ',
    )
  }
  if ('const' in schema) return html`<code>${JSON.stringify(schema['const'])}</code>`
  const choices = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(choices)) return join(choices.map(typeOf), ' or ')
  const { type } = schema
  if (type === 'array') return html`${typeOf((schema['items'] ?? {}) as JsonSchema)}[]`
  if (Array.isArray(type)) return html`${type.join(' or ')}`
  if (type === 'string' && schema['format']) return html`${schema['format']}`
  return html`${type ?? 'any'}`
}

export function constraintsOf(schema: JsonSchema): Html {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern } = schema
  const parts = [
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' items'),
    typeof pattern === 'string' ? html`<code>${pattern}</code>` : null,
    'default' in schema ? html`default <code>${JSON.stringify(schema['default'])}</code>` : null,
  ].filter((part) => part !== null)
  return parts.length === 0 ? html`` : html`<small>${join(parts, '; ')}</small>`
}

function rowsOf(schema: JsonSchema, prefix: string): Html[] {
  const properties = (schema['properties'] ?? {}) as Schemas
  const required = (schema['required'] ?? []) as readonly string[]
  return Object.entries(properties).flatMap(([name, property]) => {
    const path = `${prefix}${name}`
    const row = html`<tr>
      <td><code>${path}</code>${required.includes(name) ? html` <em>required</em>` : ''}</td>
      <td>${typeOf(property)}</td>
      <td>${property['description'] ?? ''} ${constraintsOf(property)}</td>
    </tr> `
    return [row, ...innerOf(property).flatMap((inner) => rowsOf(inner, `${path}.`))]
  })
}

/** The unnamed objects that a field may contain, directly, in a list or as an alternative. */
function innerOf(schema: JsonSchema): JsonSchema[] {
  const choices = (schema['anyOf'] ?? schema['oneOf'] ?? []) as JsonSchema[]
  const items = schema['items'] as JsonSchema | undefined
  return [schema, ...choices, ...(items ? [items] : [])].filter((one) => 'properties' in one)
}

function range(low: unknown, high: unknown, unit: string): Html | null {
  if (low === undefined && high === undefined) return null
  if (low === undefined) return html`at most ${high}${unit}`
  if (high === undefined) return html`at least ${low}${unit}`
  return html`${low} to ${high}${unit}`
}

function referenceOf(schema: JsonSchema): string | null {
  const { $ref } = schema
  return typeof $ref === 'string' ? $ref.slice($ref.lastIndexOf('/') + 1) : null
}
