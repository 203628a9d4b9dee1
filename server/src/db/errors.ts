/** Whether a statement failed because a row with the same key exists, by the name of the index. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === '23505' &&
    'constraint' in error &&
    error.constraint === constraint
  )
}

/** Whether a statement named a table that is not there: no server ever started on this database. */
export function isUndefinedTable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '42P01'
}

/** Whether the database could not be reached, or the connection broke. It may come back by itself. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  // The socket file may be gone with the server.
  const isConnect = 'syscall' in error && error.syscall === 'connect'
  // Class 08 is the connection's, 57P the server's going down and coming up (PostgreSQL, appendix A).
  return (
    /^(ECONNRESET|EPIPE|57P0[123]|08...)$/.test(code) ||
    (isConnect && /^(ECONNREFUSED|ENOENT)$/.test(code)) ||
    error.message.startsWith('Connection terminated') ||
    // A later statement on a connection that broke, such as the end of its transaction.
    error.message.endsWith('is not queryable')
  )
}
