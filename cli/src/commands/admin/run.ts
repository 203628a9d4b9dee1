import { becomeServerProgram } from '../../server-program.ts'

/** Becomes the server's admin program. Never put a password in the request: `ps` shows arguments. */
export function runAdmin(
  request: { readonly command: string } & Readonly<Record<string, unknown>>,
  { json }: { readonly json: true | undefined },
): never {
  const args = [JSON.stringify(request), ...(json ? ['--json'] : [])]
  return becomeServerProgram('main-admin.ts', args)
}
