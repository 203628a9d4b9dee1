import type { JsonSchema, OpenApiDocument, OpenApiOperation } from '@computer/contract'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'

/** An operation of the document, with the place where it stands there. */
export type Operation = OpenApiOperation & { readonly method: string; readonly path: string }

/** The published OpenAPI document: what it allows to be sent, and what it promises in return. */
export type PublishedDocument = ReturnType<typeof readDocument>

export function readDocument(document: OpenApiDocument) {
  const operations: readonly Operation[] = Object.entries(document.paths).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        ...operation,
        method: method.toUpperCase(),
        path,
      })),
  )
  const places = operations.map((operation) => ({ operation, pattern: patternOf(operation) }))
  const ajv = new Ajv2020({ strict: false, formats: fullFormats, validateFormats: true })
  ajv.addSchema(document, 'document')
  const validators = new Map<string, ValidateFunction>()

  return {
    operations,
    resolve,
    /** The operation that a request reaches, also under the alias of its path without the version. */
    operationAt(method: string, path: string): Operation | undefined {
      const full = path.startsWith('/machines/') ? `/v1${path}` : path
      return places.find(({ operation, pattern }) => {
        const isAlias = full !== path
        const hasAlias = operation.path.startsWith('/v1/machines/{machine_id}/')
        return operation.method === method && pattern.test(full) && (!isAlias || hasAlias)
      })?.operation
    },
    /** The documented content of a response by its media type; undefined for an undocumented status. */
    contentOf(operation: Operation, status: number): readonly string[] | undefined {
      const response = responseOf(operation, status)
      return response && Object.keys(response.content ?? {})
    },
    /** What is wrong with the JSON body of a documented response; null if nothing is. */
    findMismatch(operation: Operation, status: number, body: unknown): string | null {
      const { $ref } = operation.responses[status] as { $ref?: string }
      const response =
        $ref ??
        `#/${['paths', operation.path, operation.method.toLowerCase(), 'responses', status].map(escape).join('/')}`
      const schema = `document${response}/content/application~1json/schema`
      let validate = validators.get(schema)
      if (!validate) validators.set(schema, (validate = ajv.compile({ $ref: schema })))
      return validate(body) ? null : ajv.errorsText(validate.errors)
    },
  }

  function resolve(schema: JsonSchema): JsonSchema {
    const { $ref } = schema as { $ref?: string }
    if ($ref === undefined) return schema
    return document.components.schemas[$ref.split('/').at(-1)!]!
  }

  function responseOf(operation: Operation, status: number) {
    const response = operation.responses[status]
    if (response === undefined || !('$ref' in response)) return response
    return document.components.responses[response.$ref.split('/').at(-1)!]
  }
}

function escape(part: string | number): string {
  return encodeURIComponent(String(part).replaceAll('~', '~0').replaceAll('/', '~1'))
}

function patternOf({ path }: Operation): RegExp {
  return new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]*')}$`)
}
