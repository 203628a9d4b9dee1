import type Anthropic from '@anthropic-ai/sdk'
import assert from 'node:assert/strict'
import type OpenAI from 'openai'
import { decode, type Seen, type Vendor } from '../../e2e/agents/scripted-model.ts'

/* The vendors' APIs as the programs of the guide use them: the tool for the screen, and one that asks a person. */

/** What a model does in a turn. */
export type Turn = {
  readonly look?: true
  readonly ask?: { readonly reason: string; readonly message: string }
  readonly click?: readonly [x: number, y: number]
}
/** The text of a result besides its picture. */
type Told = Seen & { readonly told?: string }

const nothing: Seen = { picture: undefined, mistake: undefined }
const end = 'The order is 4711.'

export const anthropic: Vendor<Turn> = {
  read: async (request) => {
    const { messages, tools } = request as Anthropic.Beta.MessageCreateParamsNonStreaming
    const [screen, own] = tools as [{ type: string }, Anthropic.Beta.BetaTool]
    assert.deepEqual([screen.type, own.name], ['computer_20251124', 'ask_person'])
    const [asked, answer] = messages.slice(-2)
    if (!answer) return nothing
    const [use] = asked!.content as [Anthropic.Beta.BetaToolUseBlockParam]
    const [result] = answer.content as [Anthropic.Beta.BetaToolResultBlockParam]
    assert.deepEqual([result.tool_use_id, result.is_error], [use.id, undefined])
    const content = result.content as (
      | Anthropic.Beta.BetaTextBlockParam
      | Anthropic.Beta.BetaImageBlockParam
    )[]
    const text = content.find((block) => block.type === 'text')?.text
    const image = content.find((block) => block.type === 'image')!.source
    assert.ok(image.type === 'base64')
    return see(image.data, text)
  },
  write: ({ look, ask, click } = {}, turn) => {
    const input = ask ?? (look ? { action: 'screenshot' } : undefined)
    const use = click ? { action: 'left_click', coordinate: click } : input
    const name = ask ? 'ask_person' : 'computer'
    return {
      id: `msg_${turn}`,
      type: 'message',
      role: 'assistant',
      model: 'scripted',
      content: use
        ? [{ type: 'tool_use', id: `toolu_${turn}`, name, input: use }]
        : [{ type: 'text', text: end }],
      stop_reason: use ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    }
  },
}

export const openai: Vendor<Turn> = {
  read: async (request) => {
    const { input, tools } = request as OpenAI.Responses.ResponseCreateParamsNonStreaming
    assert.deepEqual(
      tools!.map((tool) => (tool.type === 'function' ? tool.name : tool.type)),
      ['computer', 'ask_person'],
    )
    if (typeof input === 'string') return nothing
    const [output, ...rest] = input as [
      | OpenAI.Responses.ResponseInputItem.ComputerCallOutput
      | OpenAI.Responses.ResponseInputItem.FunctionCallOutput,
    ]
    assert.equal(rest.length, 0)
    if (output.type === 'computer_call_output') return see(dataIn(output.output.image_url!))
    const [text, image] = output.output as [
      OpenAI.Responses.ResponseInputTextContent,
      OpenAI.Responses.ResponseInputImageContent,
    ]
    assert.deepEqual([text.type, image.type], ['input_text', 'input_image'])
    return see(dataIn(image.image_url!), text.text)
  },
  write: (did, turn) => ({
    id: `resp_${turn}`,
    object: 'response',
    status: 'completed',
    model: 'scripted',
    output: [did ? openAiItem(did, turn) : openAiEnd(turn)],
  }),
}

function openAiItem({ ask, click }: Turn, turn: number) {
  const ids = { id: `item_${turn}`, call_id: `call_${turn}`, status: 'completed' }
  if (ask) {
    return { ...ids, type: 'function_call', name: 'ask_person', arguments: JSON.stringify(ask) }
  }
  const [x, y] = click ?? []
  const action = click ? { type: 'click', button: 'left', x, y } : { type: 'screenshot' }
  return { ...ids, type: 'computer_call', pending_safety_checks: [], actions: [action] }
}

function openAiEnd(turn: number) {
  const content = [{ type: 'output_text', text: end, annotations: [] }]
  return { type: 'message', id: `msg_${turn}`, role: 'assistant', status: 'completed', content }
}

function dataIn(url: string): string {
  const [start, data] = url.split(',')
  assert.equal(start, 'data:image/png;base64')
  return data!
}

async function see(data: string, told?: string): Promise<Told> {
  const picture = await decode(data)
  return { ...nothing, picture, ...(told !== undefined && { told }) }
}
