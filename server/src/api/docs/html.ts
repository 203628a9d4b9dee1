/** Markup that needs no escaping. The `html` tag escapes all other values. */
export type Html = { readonly html: string }

export function html(strings: TemplateStringsArray, ...values: readonly unknown[]): Html {
  const parts = strings.map((string, index) => {
    const value = values[index]
    if (index >= values.length) return string
    return string + (isHtml(value) ? value.html : escape(String(value)))
  })
  return { html: parts.join('') }
}

export function join(parts: readonly Html[], separator = ''): Html {
  return { html: parts.map((part) => part.html).join(separator) }
}

function isHtml(value: unknown): value is Html {
  return typeof value === 'object' && value !== null && 'html' in value
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
