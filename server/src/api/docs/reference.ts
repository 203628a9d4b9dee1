import type {
  JsonSchema,
  OpenApiDocument,
  OpenApiOperation,
  OpenApiParameter,
} from '@computer/contract'
import { curlExample, exampleOf } from './example.ts'
import { html, join, type Html } from './html.ts'
import { constraintsOf, fieldsTable, typeOf } from './schema-table.ts'
import { referenceStyle } from './style.ts'

type Row = { readonly method: string; readonly path: string; readonly operation: OpenApiOperation }

/** The API reference as one self-contained page, without scripts and external resources. */
export function renderReference(document: OpenApiDocument): string {
  const rows = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]): Row => ({
      method: method.toUpperCase(),
      path,
      operation,
    })),
  )
  const groups = document.tags.map(({ name }) => ({
    name,
    rows: rows.filter(({ operation }) => operation.tags.includes(name)),
  }))
  const { title, version } = document.info
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} API reference</title>
        <style>
          ${{ html: referenceStyle }}
        </style>
      </head>
      <body>
        <nav aria-label="Contents">
          <a class="brand" href="#top">${title} <small>${version}</small></a>
          ${join(groups.map(({ name, rows }) => navigation(name, rows)))}
          <h2>More</h2>
          <ul>
            <li><a href="#errors">Errors</a></li>
            <li><a href="#schemas">Schemas</a></li>
          </ul>
        </nav>
        <main id="top">
          ${introduction(document)}
          ${join(groups.map(({ name, rows }) => group(document, name, rows)))} ${errors(document)}
          ${schemas(document)}
        </main>
      </body>
    </html> `.html
}

function navigation(name: string, rows: readonly Row[]): Html {
  const items = rows.map(
    ({ method, operation }) =>
      html`<li>
        <a href="#${operation.operationId}"
          ><b class="${method}">${method}</b> ${shortName(operation)}</a
        >
      </li> `,
  )
  return html`<h2>${titleOf(name)}</h2>
    <ul>
      ${join(items)}
    </ul> `
}

function introduction({ info, servers }: OpenApiDocument): Html {
  return html`<header>
    <h1>${info.title} API</h1>
    <p>${code(info.description)}</p>
    <p>
      Send an API key with every request. This reference is also available as
      <a href="/v1/openapi.json">OpenAPI 3.1</a>.
    </p>
    <pre>
curl ${servers[0]?.url ?? ''}/v1/auth/me \\
  -H "authorization: Bearer $COMPUTER_API_KEY"</pre>
  </header> `
}

function group(document: OpenApiDocument, name: string, rows: readonly Row[]): Html {
  const articles = rows.map((row) => article(document, row))
  return html`<section id="${name}">
    <h2>${titleOf(name)}</h2>
    ${join(articles)}
  </section> `
}

function article(document: OpenApiDocument, { method, path, operation }: Row): Html {
  const { operationId, summary, description, parameters } = operation
  const inPlace = (place: OpenApiParameter['in']) =>
    parameters.filter((parameter) => parameter.in === place)
  return html`<article id="${operationId}">
    <h3>
      <b class="${method}">${method}</b> <code>${path}</code>
      <a class="anchor" href="#${operationId}" aria-label="Link to ${operationId}">#</a>
    </h3>
    <p>${summary} <span class="needs">${code(description)}</span></p>
    ${parameterTable('Path', inPlace('path'))} ${parameterTable('Query', inPlace('query'))}
    ${parameterTable('Headers', inPlace('header'))} ${body(document, operation)}
    <h4>Example</h4>
    <pre>${curlExample(document, { method, path, operation })}</pre>
    ${successResponse(document, operation)}
  </article> `
}

function parameterTable(title: string, parameters: readonly OpenApiParameter[]): Html {
  if (parameters.length === 0) return html``
  const rows = parameters.map(
    ({ name, required, schema, description }) =>
      html`<tr>
        <td><code>${name}</code>${required ? html` <em>required</em>` : ''}</td>
        <td>${typeOf(schema)}</td>
        <td>${description ?? ''} ${constraintsOf(schema)}</td>
      </tr> `,
  )
  return html`<h4>${title}</h4>
    <table>
      ${join(rows)}
    </table> `
}

function body(document: OpenApiDocument, { requestBody }: OpenApiOperation): Html {
  if (!requestBody) return html``
  const schema = requestBody.content['application/json']?.schema
  const upload = Object.keys(requestBody.content).find((type) => type !== 'application/json')
  const note = schema
    ? html`<p>
        Or send bytes with <code>content-type: ${upload}</code> and the other fields in the query.
      </p>`
    : html`<p>Send bytes with <code>content-type: ${upload}</code>.</p>`
  return html`<h4>Body</h4>
    <p>${requestBody.description}</p>
    ${schema ? fieldsTable(document, schema) : ''}${upload ? note : ''}`
}

function successResponse(document: OpenApiDocument, { responses }: OpenApiOperation): Html {
  const [status, response] = Object.entries(responses).find(([code]) => code.startsWith('2'))!
  if ('$ref' in response) return html``
  const types = Object.keys(response.content ?? {})
  const schema = response.content?.['application/json']?.schema
  const other = types.filter((type) => type !== 'application/json')
  const bytes = other.map((type) =>
    schema
      ? html`<p>With <code>accept: ${type}</code>, the response is bytes.</p>`
      : html`<p>The response is bytes: <code>${type}</code>.</p>`,
  )
  const isNamed = schema !== undefined && '$ref' in schema
  const isEmpty = schema !== undefined && !isNamed && Object.keys(fieldsOf(schema)).length === 0
  const example = schema && !isEmpty ? JSON.stringify(exampleOf(document, schema), null, 2) : '{}'
  return html`<h4>
      Response <span class="status">${status}</span> ${schema && isNamed ? typeOf(schema) : ''}
    </h4>
    ${schema && !isNamed && !isEmpty ? fieldsTable(document, schema) : ''}${join(bytes)}
    ${
      schema
        ? html`<details>
            <summary>Example response</summary>
            <pre>${example}</pre>
          </details>`
        : ''
    }`
}

function fieldsOf(schema: JsonSchema): object {
  return (schema['properties'] as object | undefined) ?? {}
}

function errors({ components, paths }: OpenApiDocument): Html {
  const operation = Object.values(Object.values(paths)[0] ?? {})[0]
  const rows = Object.entries(operation?.responses ?? {}).flatMap(([status, response]) => {
    if (!('$ref' in response)) return []
    const name = response.$ref.slice(response.$ref.lastIndexOf('/') + 1)
    const description = components.responses[name]?.description ?? ''
    return [
      html`<tr>
        <td>${status}</td>
        <td>${code(description)}</td>
      </tr> `,
    ]
  })
  return html`<section id="errors">
    <h2>Errors</h2>
    <p>Every error response contains ${typeOf({ $ref: '#/components/schemas/Error' })}.</p>
    <table>
      ${join(rows)}
    </table>
  </section> `
}

function schemas(document: OpenApiDocument): Html {
  const all = Object.entries(document.components.schemas).map(
    ([name, schema]) =>
      html`<article id="schema-${name}">
        <h3>${name}</h3>
        <p>${schema['description'] ?? ''}</p>
        ${
          'properties' in schema
            ? fieldsTable(document, schema)
            : html`<p>${typeOf(schema)} ${constraintsOf(schema)}</p>`
        }
      </article> `,
  )
  return html`<section id="schemas">
    <h2>Schemas</h2>
    ${join(all)}
  </section> `
}

/** `input_lease` as `Input lease`. */
function titleOf(tag: string): string {
  const words = tag.replaceAll('_', ' ').replace(/^api\b/, 'API')
  return words.slice(0, 1).toUpperCase() + words.slice(1)
}

function shortName({ operationId }: OpenApiOperation): string {
  const name = operationId.slice(operationId.indexOf('.') + 1)
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

/** Renders text in backticks as code. */
function code(text: string): Html {
  const parts = text.split('`')
  return join(parts.map((part, index) => (index % 2 ? html`<code>${part}</code>` : html`${part}`)))
}
