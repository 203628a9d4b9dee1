/** A decoded form: strings, and objects by key. Arrays are objects with the keys 0, 1 and so on. */
export type Form = { [key: string]: string | Form }

/** Decodes `items[0][price]=a&metadata[b]=c`, as Stripe's clients send parameters. */
export function decodeForm(text: string): Form {
  const form: Form = {}
  for (const [name, value] of new URLSearchParams(text)) {
    const keys = name.split('[').map((part) => part.replace(/\]$/, ''))
    let at = form
    for (const key of keys.slice(0, -1)) {
      const inner = at[key]
      at = typeof inner === 'object' ? inner : (at[key] = {})
    }
    at[keys.at(-1)!] = value
  }
  return form
}
