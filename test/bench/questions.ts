/**
 * Asks ten questions about a vault as a model would, using only the tools. It searches once, then reads the best
 * matches. It stops when it has read the answer, or 12,000 characters. Reports how many answers were within that limit.
 *
 * Run: node --import tsx test/bench/questions.ts FOLDER, docs/en/docs of github.com/fastapi/fastapi.
 */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { made } from '../support/cast.ts'
import { grove as command } from '../support/command.ts'
import { startGrove } from '../support/grove.ts'
import { signUp } from '../support/people.ts'

/** The limit of characters of all answers to one question. */
const mostChars = 12_000
const searchChars = 7_000
const leastChars = 3_000

/**
 * Questions of a reader, written before the first run, and words that an answer has. The words of the ninth were made
 * stricter later.
 */
const questions: readonly (readonly [string, RegExp])[] = [
  ['How do I leave fields that were not set out of a response?', /response_model_exclude_unset/],
  ['Which exception is raised when a WebSocket client disconnects?', /WebSocketDisconnect/],
  ['How do I run code once before the application starts taking requests?', /lifespan/],
  ['How do I serve the application behind a proxy that strips a path prefix?', /root_path|--root-path/],
  ['How can a test replace a dependency with another one?', /dependency_overrides/],
  ['How do I convert a Pydantic model to something JSON can store, such as a dict?', /jsonable_encoder/],
  ['How do I run something after the response has been sent, such as an e-mail?', /BackgroundTasks|add_task/],
  ['How many worker processes can I start on the command line?', /--workers/],
  [
    'What does a dependency with yield do after the response?',
    /executed after the response|after the response is sent/,
  ],
  ['Which class do I use to read the username and password of a login form?', /OAuth2PasswordRequestForm/],
]

const folder = process.argv[2]
if (folder === undefined) throw new Error('Name the folder of the vault')
const grove = await startGrove()
try {
  const ann = await signUp(grove, 'Ann')
  const imported = await command(grove.dataDir, 'import', folder, '--as', ann.user.email, '--name', 'Vault')
  if (imported.code !== 0) throw new Error(imported.stderr)
  const { orgs } = await made(ann.get('/orgs'))
  const org_id: string = orgs.find(({ name }: { name: string }) => name === 'Vault').id
  const { token } = await made(ann.post('/auth/tokens', { name: 'Model', access: 'read', org_id }))
  const client = new Client(
    { name: 'questions', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  const headers = { authorization: `Bearer ${token}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${grove.url}/mcp`), { requestInit: { headers } }))
  const ask = async (name: string, input: Record<string, unknown>): Promise<string> => {
    const { content, isError } = await client.callTool({ name, arguments: input })
    const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('')
    if (isError) throw new Error(text)
    return text
  }

  let within = 0
  for (const [question, answer] of questions) {
    const found = await ask('search', { org_id, query: question, top_k: 5, max_chars: searchChars })
    let read = found.length
    let calls = 1
    let isWithin = answer.test(found)
    for (const [, node_id] of found.matchAll(/^\{"rank":\d+,"id":"([^"]+)"/gm)) {
      const left = mostChars - read
      if (isWithin || left < leastChars) break
      const text = await ask('read_node', { org_id, node_id, max_chars: left })
      isWithin = answer.test(text)
      read += text.length
      calls++
    }
    if (isWithin) within++
    console.log(`${isWithin ? 'within' : 'beyond'}  ${calls} calls, ${read} characters: ${question}`)
  }
  console.log(`${within} of ${questions.length} answers were within ${mostChars.toLocaleString('en')} characters each`)
  await client.close()
} finally {
  await grove.close()
}
process.exit(0)
