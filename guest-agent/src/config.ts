/** What differs between a machine and a test. Everything has the machine's value as its default. */
export type Config = {
  readonly socketPath: string
  /** The user that owns the desktop, and whose home relative paths start from. */
  readonly agentUser: string
  readonly xSocketPath: string
  readonly xAuthorityPath: string
  readonly rfbSocketPath: string
  /** Directory and everything below it that the file routes never touch. */
  readonly deniedPaths: readonly string[]
  /** In memory; where the machine's secrets lie. */
  readonly secretsFolder: string
  /** Of the machine's disk. */
  readonly rootPath: string
}

export function readConfig(env: NodeJS.ProcessEnv): Config {
  return {
    socketPath: env.COMPUTER_AGENT_SOCKET ?? '/run/computer/agent.sock',
    agentUser: env.COMPUTER_AGENT_USER ?? 'agent',
    xSocketPath: env.COMPUTER_AGENT_X_SOCKET ?? '/tmp/.X11-unix/X0',
    xAuthorityPath: env.COMPUTER_AGENT_XAUTHORITY ?? '/home/agent/.Xauthority',
    rfbSocketPath: env.COMPUTER_AGENT_RFB_SOCKET ?? '/run/xvnc/rfb.sock',
    deniedPaths: ['/run/computer', '/opt/computer', '/dev/incus', '/run/xvnc'],
    secretsFolder: env.COMPUTER_AGENT_SECRETS ?? '/run/computer',
    rootPath: env.COMPUTER_AGENT_ROOT ?? '/',
  }
}
