import { ApiError } from '@computer/sdk'

/** One side of a copy. */
export type Place =
  | { readonly type: 'local'; readonly path: string }
  | { readonly type: 'machine'; readonly machine: string; readonly path: string }
  /** Standard input or output. */
  | { readonly type: 'stream' }

/** As scp has it: a colon before any slash comes after a machine. ./a:b is a file of here. */
export function parsePlace(text: string): Place {
  if (text === '-') return { type: 'stream' }
  const [, machine, path] = /^([^/:]+):(.*)$/s.exec(text) ?? []
  if (machine === undefined || machine.startsWith('.')) return { type: 'local', path: text }
  return { type: 'machine', machine, path: path || '.' }
}

export function parsePlaces(from: string, to: string) {
  const [source, target] = [parsePlace(from), parsePlace(to)]
  const isRemote = (place: Place) => place.type === 'machine'
  if (isRemote(source) !== isRemote(target)) return { source, target }
  const message = isRemote(source)
    ? 'copy from one machine to another by way of here: `computer cp A:PATH - | computer cp - B:PATH`'
    : 'one side is a machine: MACHINE:PATH'
  throw new ApiError('invalid_request', message)
}
