/** A receiver's part that matters: nothing is believed before its signature is verified. */
export const receiverLines = `import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.env.WEBHOOK_SECRET)
// It throws unless the body is as it was signed.
const message = webhook.verify(body, request.headers)
console.log(message.type, message.data.machine_id)`
