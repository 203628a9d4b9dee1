import { useSession } from '../api/session.ts'

/** A server whose gateway this browser cannot reach: screens and terminals would only fail to connect. */
export function GatewayNotice() {
  const { gatewayUrl } = useSession()
  if (!isLoopback(new URL(gatewayUrl).hostname) || isLoopback(location.hostname)) return null
  return (
    <div role="alert" className="bg-warn-soft px-4 py-2 text-warn">
      Screens and terminals are at {gatewayUrl}, which only the server itself can reach. Its
      operator sets <code>COMPUTER_GATEWAY_URL</code> to an address that browsers can reach.
    </div>
  )
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
}
