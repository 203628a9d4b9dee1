import { homePath } from '../../../api/files.ts'

/** An absolute path without empty parts, `.` and `..`. */
export function normalizePath(path: string | undefined): string {
  const parts: string[] = []
  const from = path?.startsWith('/') ? path : `${homePath}/${path ?? ''}`
  for (const part of from.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

export function joinPath(directory: string, name: string): string {
  return directory === '/' ? `/${name}` : `${directory}/${name}`
}

export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The directories on the way to a path, the root first. */
export function ancestorsOf(path: string): readonly { readonly name: string; path: string }[] {
  const names = path === '/' ? [] : path.slice(1).split('/')
  return [
    { name: '/', path: '/' },
    ...names.map((name, index) => ({ name, path: `/${names.slice(0, index + 1).join('/')}` })),
  ]
}

/*
 * Line breaks and other controls, characters without a shape, and those that turn the reading direction, with
 * which "invoice[U+202E]gpj.exe" passes for a picture. Joiners stay: scripts and emoji need them.
 */
const unseen =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** A name or path as text for one line, in which nothing is invisible. */
export function visibleName(name: string): string {
  const visible = name.replace(
    unseen,
    (one) => `[U+${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`,
  )
  return visible.replace(/^ +| +$/g, (spaces) => '␣'.repeat(spaces.length))
}

/** Why a text cannot be the name of a file, or undefined. */
export function nameFault(name: string): string | undefined {
  if (name === '') return 'Type a name first.'
  if (name === '.' || name === '..') return 'This name means a folder already.'
  if (name.includes('/')) return 'A name holds no slash. To move it elsewhere, use Move.'
  if (new TextEncoder().encode(name).length > 255) return 'A name has at most 255 bytes.'
  return undefined
}
