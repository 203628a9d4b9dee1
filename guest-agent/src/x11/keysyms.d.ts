/** The table of X.Org's keysymdef.h, by the names of that header. */
declare module 'x11/lib/keysyms.js' {
  const table: Readonly<Record<string, { readonly code: number } | undefined>>
  export default table
}
