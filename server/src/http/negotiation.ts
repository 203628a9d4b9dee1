/** Encodings that files are stored in. Brotli is smaller. */
export const encodingsByPreference = ['br', 'gzip'] as const
export type Encoding = (typeof encodingsByPreference)[number]

/** The best of the available encodings that the caller accepts; null for the file as it is. */
export function negotiateEncoding(
  accepted: string | string[] | undefined,
  available: Readonly<Partial<Record<Encoding, unknown>>>,
): Encoding | null {
  const named = new Set(listOf(accepted).filter(isWanted).map(nameOf))
  return encodingsByPreference.find((one) => named.has(one) && available[one]) ?? null
}

/** Whether the caller has this content already. Proxies that compress make entity tags weak. */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  return listOf(ifNoneMatch).some((one) => one === '*' || one.replace(/^W\//, '') === etag)
}

/** The elements of a header. None of ours contains a comma. */
function listOf(header: string | string[] | undefined): string[] {
  return String(header ?? '')
    .split(',')
    .map((one) => one.trim())
}

/** A weight of zero refuses the encoding. */
function isWanted(element: string): boolean {
  return !/;\s*q=0(\.0*)?\s*$/i.test(element)
}

function nameOf(element: string): string {
  return element.split(';')[0]!.trim().toLowerCase()
}
