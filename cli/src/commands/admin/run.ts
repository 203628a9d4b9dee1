import { runServerProgram } from '../../server-program.ts'

/** Has the server's program do it. No password is ever in the request: arguments show in `ps`. */
export async function runAdmin(
  request: { readonly command: string } & Readonly<Record<string, unknown>>,
  { json }: { readonly json: true | undefined },
): Promise<void> {
  const args = [JSON.stringify(request), ...(json ? ['--json'] : [])]
  process.exitCode = await runServerProgram('main-admin.ts', args)
}
