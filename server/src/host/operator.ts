import { userInfo } from 'node:os'
import type { Operator } from '../domain/operator/users.ts'

/** The person at the terminal of the host, for the audit logs: the user who ran sudo. */
export function readOperator(): Operator {
  const name = process.env['SUDO_USER'] ?? userInfo().username
  return { type: 'operator', id: 'operator', name }
}
