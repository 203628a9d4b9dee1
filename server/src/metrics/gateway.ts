import type { channels } from '@computer/contract'
import { Counter, Gauge, type Registry } from 'prom-client'

export type ChannelName = keyof typeof channels

export type GatewayMetrics = {
  /** Counts a connection as open. The result is called once it has closed. */
  countOpen(channel: ChannelName): () => void
}

export function createGatewayMetrics(registry: Registry): GatewayMetrics {
  const open = new Gauge({
    name: 'computer_gateway_connections',
    help: 'Open connections to the gateway, by channel: screen has the viewers, terminal the terminals.',
    labelNames: ['channel'],
    registers: [registry],
  })
  const opened = new Counter({
    name: 'computer_gateway_connections_opened_total',
    help: 'Connections to the gateway that were opened, by channel.',
    labelNames: ['channel'],
    registers: [registry],
  })
  return {
    countOpen(name) {
      const channel = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
      opened.inc({ channel })
      open.inc({ channel })
      return () => open.dec({ channel })
    },
  }
}
