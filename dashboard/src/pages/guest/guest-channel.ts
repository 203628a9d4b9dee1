import type { Screen, ScreenMessage } from '@computer/sdk'
import { helpGuest } from './guest-client.ts'

/** A connection to the screen of the guest who has this session, with the grant that the gateway takes input under. */
export async function openGuestChannel(
  sessionId: string,
  onMessage: (message: ScreenMessage) => void,
): Promise<Screen> {
  const lease = await helpGuest.renew()
  return helpGuest.screen({ sessionId, lease }, { gatewayUrl: gatewayUrl(), onMessage })
}

/** The page of a developer's server has none, and is served beside its gateway. */
function gatewayUrl(): string {
  return document.querySelector<HTMLMetaElement>('meta[name=gateway]')?.content || location.origin
}
