/** The parameters of an address. All are texts: a search for "true" or "1e3" is a search for that. */
export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text))
}

export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined)
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString()
  return text && `?${text}`
}

/** A search parameter that is a text, if it is one. */
export function textOf<K extends string>(
  given: Record<string, unknown>,
  key: K,
): { readonly [k in K]?: string } {
  const text = given[key]
  return typeof text === 'string' && text !== '' ? ({ [key]: text } as { [k in K]: string }) : {}
}

/** Reads search parameters that are texts, which may each be absent. */
export function textsOf<K extends string>(...keys: readonly K[]) {
  return (given: Record<string, unknown>): { readonly [k in K]?: string } =>
    Object.assign({}, ...keys.map((key) => textOf(given, key))) as { readonly [k in K]?: string }
}
