import { runServerProgram } from '../../server-program.ts'

/** Runs the server's admin program. Never put a password in the request: `ps` shows arguments. */
export async function runAdmin(
  request: { readonly command: string } & Readonly<Record<string, unknown>>,
  { json }: { readonly json: true | undefined },
): Promise<void> {
  const args = [JSON.stringify(request), ...(json ? ['--json'] : [])]
  process.exitCode = await runServerProgram('main-admin.ts', args)
}
