/**
 * A content-disposition with which browsers save a response, under this name, instead of showing it.
 * Characters that separate paths, mean something to a shell or file system, or cannot be seen are replaced:
 * the name comes from a machine.
 */
export function attachmentNamed(name: string): string {
  const safe = name.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"*/:<>?\\|]/gu, '_')
  const plain = safe.replace(/[^\x20-\x7e]|%/gu, '_')
  // Such as ' and (, which encodeURIComponent keeps and the header does not allow.
  const encoded = encodeURIComponent(safe).replace(
    /['()]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}
