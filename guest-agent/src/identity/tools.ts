import { runProgram } from '../system/program.ts'

/** The system programs that change the identity. */
export type SystemTools = {
  setHostname(name: string): Promise<void>
  /** Writes to etc/ssh below `prefix`, which must exist. */
  makeHostKeys(prefix: string): Promise<void>
  /** Does nothing if sshd does not run. */
  restartSshd(): Promise<void>
}

export const systemTools: SystemTools = {
  setHostname: (name) => runProgram('/usr/bin/hostname', [name], { timeoutMs: 5_000 }),
  makeHostKeys: (prefix) =>
    runProgram('/usr/bin/ssh-keygen', ['-A', '-f', prefix], { timeoutMs: 60_000 }),
  restartSshd: () =>
    runProgram('/usr/bin/systemctl', ['try-restart', 'ssh.service'], { timeoutMs: 10_000 }),
}
