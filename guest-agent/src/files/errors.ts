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
    case 'ENAMETOOLONG':
    case 'ENOTDIR':
    case 'EISDIR':
    case 'ELOOP':
    case 'EINVAL':
    case 'ENXIO':
    case 'ETXTBSY':
    case 'EFBIG':
      return invalidRequest(`${path}: ${(error as Error).message}`)
    default:
      return error
  }
}
