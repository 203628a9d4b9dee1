import { z } from 'zod'

export type JsonSchema = { readonly [keyword: string]: unknown }
export type SchemaParts = Readonly<Record<string, z.ZodType>>
type SchemaProperty = {
  readonly name: string
  readonly required: boolean
  readonly schema: JsonSchema
}

/** JSON schemas of the parts of endpoints, and the named schemas that they refer to. */
export type SchemaCatalog = {
  readonly components: Readonly<Record<string, JsonSchema>>
  get(part: string): JsonSchema
  /** Empty for a part that does not exist. */
  properties(part: string): readonly SchemaProperty[]
}

/** Converts all parts together, so that a schema with an id is emitted once, under that id. */
export function toSchemas(parts: SchemaParts): SchemaCatalog {
  const whole = z.toJSONSchema(z.object(parts), { io: 'input', override: simplify })
  const { properties = {}, $defs = {} } = referToComponents(whole) as {
    readonly properties?: Readonly<Record<string, ObjectSchema>>
    readonly $defs?: Readonly<Record<string, ObjectSchema>>
  }
  const get = (part: string) => {
    const schema = properties[part]
    if (!schema) throw new Error(`no schema of ${part}`)
    return schema
  }
  return {
    components: Object.fromEntries(Object.entries($defs).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    get,
    properties(part) {
      if (!Object.hasOwn(properties, part)) return []
      const schema = resolve(get(part), $defs)
      return Object.entries(schema.properties ?? {}).map(([name, property]) => ({
        name,
        required: schema.required?.includes(name) ?? false,
        schema: property,
      }))
    },
  }
}

type ObjectSchema = JsonSchema & {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
}

const componentPrefix = '#/components/schemas/'

function resolve(
  schema: ObjectSchema,
  components: Readonly<Record<string, ObjectSchema>>,
): ObjectSchema {
  return schema.$ref ? components[schema.$ref.slice(componentPrefix.length)]! : schema
}

const formats: ReadonlySet<unknown> = new Set(['date-time', 'email'])

/** Drops generated noise: the bounds of safe integers and the regex behind a format. */
function simplify({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  if (formats.has(jsonSchema['format'])) delete jsonSchema['pattern']
  if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum']
  if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum']
  if (jsonSchema['minLength'] === 0) delete jsonSchema['minLength']
  if ('example' in jsonSchema) {
    jsonSchema['examples'] = [jsonSchema['example']]
    delete jsonSchema['example']
  }
}

function referToComponents(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(referToComponents)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) =>
      key === '$ref' && typeof inner === 'string'
        ? [key, inner.replace('#/$defs/', componentPrefix)]
        : [key, referToComponents(inner)],
    ),
  )
}
