import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { encodingsByPreference, type Encoding } from '../http/negotiation.ts'

/** A file of the dashboard as it is sent: plain, and in each encoding that the build made beside it. */
export type DashboardFile = {
  readonly type: string
  readonly cacheControl: string
  readonly plain: Content
  readonly encodings: Readonly<Partial<Record<Encoding, Content>>>
}
type Content = { readonly bytes: Buffer; readonly etag: string }

/** Files of other types, such as source maps and the records of the build, are not served. */
const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  ico: 'image/x-icon',
  js: 'text/javascript; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  webmanifest: 'application/manifest+json',
  woff2: 'font/woff2',
}
const endings: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' }

/**
 * Reads a built dashboard into memory: the files by the paths that they are served at, and the documents of its
 * pages and of the guest's page, which are none of them. Only paths of the map are served, so none can leave the
 * folder.
 */
export function readDashboard(folder: string): {
  readonly document: DashboardFile | null
  readonly guestDocument: DashboardFile | null
  readonly files: ReadonlyMap<string, DashboardFile>
} {
  const names = new Set(listFiles(folder))
  const files = new Map<string, DashboardFile>()
  for (const name of names) {
    const type = typeOf(name)
    if (type !== null) files.set(`/${name}`, readFile(folder, names, name, type))
  }
  const document = files.get('/index.html') ?? null
  const guestDocument = files.get('/help.html') ?? null
  for (const name of ['/index.html', '/help.html']) files.delete(name)
  return { document, guestDocument, files }
}

/** The same document with the value of one of its `meta` elements. It is small, so it is sent as it is. */
export function withMeta(file: DashboardFile, name: string, value: string): DashboardFile {
  const written = `<meta name="${name}" content="${escapeAttribute(value)}" />`
  const empty = `<meta name="${name}" content="" />`
  const text = file.plain.bytes.toString()
  if (!text.includes(empty)) throw new Error(`the document has no empty meta element ${name}`)
  // A function, because a text would be a pattern.
  return {
    ...file,
    plain: contentOf(Buffer.from(text.replace(empty, () => written))),
    encodings: {},
  }
}

function escapeAttribute(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}

/** Names relative to the folder; empty without one. Symbolic links are not followed. */
function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function typeOf(name: string): string | null {
  const isHidden = name.split('/').some((part) => part.startsWith('.'))
  const ending = name.slice(name.lastIndexOf('.') + 1)
  return !isHidden && Object.hasOwn(types, ending) ? types[ending]! : null
}

function readFile(
  folder: string,
  names: ReadonlySet<string>,
  name: string,
  type: string,
): DashboardFile {
  const content = (path: string) => contentOf(readFileSync(join(folder, path)))
  const made = encodingsByPreference.filter((one) => names.has(name + endings[one]))
  return {
    type,
    // The name of an asset contains the hash of its content. Other names stay from build to build.
    cacheControl: name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
    plain: content(name),
    encodings: Object.fromEntries(made.map((one) => [one, content(name + endings[one])])),
  }
}

function contentOf(bytes: Buffer): Content {
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }
}
