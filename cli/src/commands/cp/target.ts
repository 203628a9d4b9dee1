import { ApiError } from '@computer/sdk'

/** The source or destination of a copy. */
export type CopyTarget =
  | { readonly type: 'local'; readonly path: string }
  | { readonly type: 'machine'; readonly machine: string; readonly path: string }
  /** Standard input or output. */
  | { readonly type: 'stream' }

/** As in scp, a colon before any slash follows a machine name. ./a:b is a local file. */
export function parseTarget(text: string): CopyTarget {
  if (text === '-') return { type: 'stream' }
  const [, machine, path] = /^([^/:]+):(.*)$/s.exec(text) ?? []
  if (machine === undefined || machine.startsWith('.')) return { type: 'local', path: text }
  return { type: 'machine', machine, path: path || '.' }
}

export function parseCopy(from: string, to: string) {
  const [source, target] = [parseTarget(from), parseTarget(to)]
  const isRemote = (side: CopyTarget) => side.type === 'machine'
  if (isRemote(source) !== isRemote(target)) return { source, target }
  const message = isRemote(source)
    ? 'cannot copy directly between machines; pipe the file: `computer cp A:PATH - | computer cp - B:PATH`'
    : 'one side of the copy must be in a machine: MACHINE:PATH'
  throw new ApiError('invalid_request', message)
}
