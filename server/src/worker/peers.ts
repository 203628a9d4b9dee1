import { readFile } from 'node:fs/promises'
import { spendInvitation } from '../domain/hosts/invitations.ts'
import { isProof } from '../domain/secrets/host-proofs.ts'
import { listenForPeers, type PeerListener } from '../peers/listener.ts'
import type { JoinAnswer } from '../peers/peer.ts'
import type { WorkerApp } from './worker-app.ts'

/** Lets processes of other hosts reach the machines of this one. Null on a server with one host. */
export async function startPeerListener(app: WorkerApp): Promise<PeerListener | null> {
  const { host, hostAddress, keyringPath } = app.config
  if (!hostAddress) return null
  return listenForPeers(app.driver, {
    ...hostAddress,
    isProof: (token) => isProof(keyringPath, host, token),
    admit: (secret) => admit(app, secret),
  })
}

async function admit({ db, config }: WorkerApp, secret: string): Promise<JoinAnswer | null> {
  const { databaseUrl, keyringPath } = config
  if (databaseUrl === null) return null
  // Read first: an invitation that is spent for nothing could not be used again.
  const keyring = await readFile(keyringPath, 'utf8')
  const host = await spendInvitation(db, secret)
  return host === null ? null : { host, databaseUrl, keyring }
}
