import { invalid, Refusal } from '../refusal.ts'

/** Names what the kernel refused in the words of the wire. */
export async function naming<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toRefusal(path, error)
  }
}

function toRefusal(path: string, error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException).code
  const cause = { cause: error }
  switch (code) {
    case 'ENOENT':
      return new Refusal('not_found', `${path} does not exist`, cause)
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new Refusal('permission_denied', `the machine does not allow this on ${path}`, cause)
    case 'ENOSPC':
    case 'EDQUOT':
      return new Refusal('precondition_failed', "the machine's disk is full", cause)
    case 'EEXIST':
      return new Refusal('conflict', `${path} came to be at the same time; try again`, cause)
    case 'ENOTEMPTY':
      return new Refusal('conflict', `${path}: a directory is not empty`, cause)
    case 'EBUSY':
    case 'EAGAIN':
      return new Refusal('conflict', `${path} is in use`, cause)
    case 'EXDEV':
      return new Refusal(
        'unsupported_operation',
        `${path} is on another file system; run mv in the machine`,
        cause,
      )
    case 'ENAMETOOLONG':
    case 'ENOTDIR':
    case 'EISDIR':
    case 'ELOOP':
    case 'EINVAL':
    case 'ENXIO':
    case 'ETXTBSY':
    case 'EFBIG':
      return invalid(`${path}: ${(error as Error).message}`)
    default:
      return error
  }
}
