import { createHash } from 'node:crypto'
import pg from 'pg'
import { isTracing, span } from '../trace/span.ts'

const names = new Map<string, string>()

/**
 * A client that prepares every parameterised statement under a name derived from its text, so that
 * Postgres parses and plans it once per connection, which halves the time of a short query. The SQL
 * comes from code, and a list is one parameter, so the names are few.
 */
export class NamingClient extends pg.Client {
  /** Part of the names; a new one prepares every statement again. */
  #epoch = 0

  // The signatures of pg's overloads cannot be restated; only (text, values) is changed.
  // oxlint-disable-next-line typescript/no-explicit-any
  override query(...args: any[]): any {
    const [text] = args
    // With a callback there is no promise to follow; the pool's own queries have one.
    const isTraced = isTracing() && typeof text === 'string' && typeof args.at(-1) !== 'function'
    if (!isTraced) return this.#query(...args)
    return span(describe(text), {}, () => this.#query(...args))
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  #query(...args: any[]): any {
    const [text, values, ...rest] = args
    if (typeof text !== 'string' || !Array.isArray(values) || values.length === 0) {
      return super.query(...(args as [string]))
    }
    const name = `${nameOf(text)}${this.#epoch}`
    // oxlint-disable-next-line typescript/no-explicit-any
    const result = (super.query as any).call(this, { name, text, values }, ...rest)
    if (typeof rest.at(-1) !== 'function') result.catch(this.#noteStale)
    return result
  }

  /** A table changed under a prepared statement, which then fails for as long as it is prepared. */
  readonly #noteStale = (error: unknown) => {
    if (error instanceof pg.DatabaseError && error.code === '0A000') this.#epoch += 1
  }
}

/** Such as `select machines`: the verb and the first table. The values are no part of it. */
function describe(text: string): string {
  const [, verb = '', table = ''] =
    /^\s*(\w+)(?:.*?\b(?:from|into|update)\s+"?(\w+))?/is.exec(text) ?? []
  return `query ${verb} ${table}`.trim()
}

function nameOf(text: string): string {
  let name = names.get(text)
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 24)
    names.set(text, name)
  }
  return name
}
