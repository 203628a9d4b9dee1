import type { Connection } from './connection.ts'
import type { FeedReader } from './event-feed.ts'

/** Sends the rows of a feed to a connection, as fast as its peer takes them. */
export function sendTo<Row>(
  connection: Connection,
  options: {
    readonly show: (row: Row) => unknown
    /** No row can follow, because the subject of the channel is gone. */
    readonly isLast?: (row: Row) => boolean
  },
): FeedReader<Row> {
  return {
    get isOpen() {
      return connection.isOpen
    },
    async take(row) {
      connection.sendControl(options.show(row))
      if (options.isLast?.(row)) connection.close('gone', 'the machine was deleted')
      if (!connection.hasRoom) await connection.drained()
    },
    onClose: (listener) => connection.onClose(listener),
  }
}
