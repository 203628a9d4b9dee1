/** A search parameter that is a text, if it is one. */
export function textOf<K extends string>(
  given: Record<string, unknown>,
  key: K,
): { readonly [k in K]?: string } {
  const value = given[key]
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text !== '' ? ({ [key]: text } as { [k in K]: string }) : {}
}

/** Reads search parameters that are texts, which may each be absent. */
export function textsOf<K extends string>(...keys: readonly K[]) {
  return (given: Record<string, unknown>): { readonly [k in K]?: string } =>
    Object.assign({}, ...keys.map((key) => textOf(given, key))) as { readonly [k in K]?: string }
}
