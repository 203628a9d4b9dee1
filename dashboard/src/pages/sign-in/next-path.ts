/**
 * Where to go after signing in: `next` if it is a path of this origin, else the first page. Anybody can
 * make a link with a `next`, so it never leads to another site. Paths of the API are fine: the exchange of
 * private previews sends people here, and takes them on afterwards.
 */
export function nextPath(next: string | undefined, origin = location.origin): string {
  if (!next?.startsWith('/') || !URL.canParse(next, origin)) return '/'
  const url = new URL(next, origin)
  const path = url.pathname + url.search + url.hash
  // Parsing turns `/\host`, and `/./` before `/host`, into what a browser takes for another host.
  return url.origin !== origin || path.startsWith('//') ? '/' : path
}
