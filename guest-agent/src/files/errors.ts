import { AgentError, invalidRequest } from '../errors.ts'

/** Turns the system errors of work on a path into errors for the caller. */
export async function mapFileErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toAgentError(path, error)
  }
}

function toAgentError(path: string, error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException).code
  const cause = { cause: error }
  switch (code) {
    case 'ENOENT':
      return new AgentError('not_found', `${path} does not exist`, cause)
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new AgentError(
        'permission_denied',
        `the machine does not allow this on ${path}`,
        cause,
      )
    case 'ENOSPC':
    case 'EDQUOT':
      return new AgentError('precondition_failed', "the machine's disk is full", cause)
    case 'EEXIST':
      return new AgentError('conflict', `${path} was created concurrently; try again`, cause)
    case 'ENOTEMPTY':
      return new AgentError('conflict', `${path}: the directory is not empty`, cause)
    case 'EBUSY':
    case 'EAGAIN':
      return new AgentError('conflict', `${path} is in use`, cause)
    case 'EXDEV':
      return new AgentError(
        'unsupported_operation',
        `${path} is on another file system; run mv in the machine`,
        cause,
      )
    default:
      return code !== undefined && code in refusals
        ? invalidRequest(`${path}: ${refusals[code as keyof typeof refusals]}`)
        : error
  }
}

/** Node's own messages name the paths through which the agent reaches a file. */
const refusals = {
  ENAMETOOLONG: 'a name in it is longer than 255 bytes, or the whole is longer than 4,095',
  ENOTDIR: 'a part of it is no directory',
  EISDIR: 'it is a directory',
  ELOOP: 'it leads through too many symbolic links',
  EINVAL: 'the file system does not allow this',
  ENXIO: 'it is a device or a socket that nobody serves',
  ETXTBSY: 'it is a program that runs',
  EFBIG: 'the file would be too large',
} as const
