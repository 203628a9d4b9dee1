/** Parses `a=1` to a string, `a[b]=1` to one level of nesting, and repeated names to an array. */
export function parseQuery(text: string): Record<string, unknown> {
  const query: Record<string, unknown> = Object.create(null)
  for (const [name, value] of new URLSearchParams(text)) {
    const nested = /^([^[\]]+)\[([^[\]]+)\]$/.exec(name)
    if (!nested) {
      append(query, name, value)
      continue
    }
    const [, outer, inner] = nested as unknown as [string, string, string]
    const group = (query[outer] ??= Object.create(null))
    if (typeof group === 'object' && !Array.isArray(group)) {
      append(group as Record<string, unknown>, inner, value)
    } else {
      append(query, name, value)
    }
  }
  return query
}

function append(into: Record<string, unknown>, name: string, value: string): void {
  const before = into[name]
  if (before === undefined) into[name] = value
  else if (Array.isArray(before)) before.push(value)
  else into[name] = [before, value]
}
