import { Command } from '@commander-js/extra-typings'
import { getCommand } from '../get.ts'
import { webhookLines } from './columns.ts'
import { create } from './create.ts'
import { deleteWebhook } from './delete.ts'
import { deliveries } from './deliveries.ts'
import { list } from './list.ts'
import { listen } from './listen.ts'
import { replay } from './replay.ts'
import { retry } from './retry.ts'
import { rotate } from './rotate.ts'
import { test } from './test.ts'
import { update } from './update.ts'

export const webhooks = new Command('webhooks')
  .description('Send events and activity to an address, signed (Standard Webhooks).')
  .addCommand(create)
  .addCommand(list)
  .addCommand(getCommand('webhook', (computer, id) => computer.webhooks.get(id), webhookLines))
  .addCommand(update)
  .addCommand(deleteWebhook)
  .addCommand(rotate)
  .addCommand(test)
  .addCommand(deliveries)
  .addCommand(retry)
  .addCommand(replay)
  .addCommand(listen)
  .addHelpText(
    'after',
    `
Only people manage webhooks: sign in with \`computer login --email\`. \`listen\` needs no webhook.`,
  )
