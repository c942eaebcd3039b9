/** The page on events verifies a message with code that works. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { startReceiver } from './receiver.ts'

describe('the page on events', () => {
  it('verifies messages with Node and with openssl, and finds forged ones', async () => {
    const page = await readFile('spec/events.md', 'utf8')
    const scripts = [...page.matchAll(/```js\n([\s\S]*?)```/g)].map(([, script = '']) => script)
    const script = scripts.find((one) => one.includes('isGenuine')) ?? ''
    const [, shell = ''] = /```sh\n(key=[\s\S]*?)```/.exec(page) ?? []
    const folder = await mkdtemp(join(tmpdir(), 'grove-readme-'))
    await writeFile(join(folder, 'verify.mjs'), script)
    const { isGenuine } = await import(join(folder, 'verify.mjs'))
    const grove = await startGrove()
    const ann = await signUp(grove, 'Ann')
    const receiver = await startReceiver()
    const hook = (await ann.post(`/orgs/${ann.org}/webhooks`, { url: receiver.url }).then(expecting(201))).body
    await ann.post(`/orgs/${ann.org}/webhooks/${hook.id}/rotate`).then(expecting(200))
    await ann.post(`/orgs/${ann.org}/webhooks/${hook.id}/ping`).then(expecting(200))
    await grove.settled()
    const [{ headers, body }] = receiver.received as [(typeof receiver.received)[number]]
    const inShell = async (text: string) => {
      await writeFile(join(folder, 'body'), text)
      const [id, time, signatures] = [headers['webhook-id'], headers['webhook-timestamp'], headers['webhook-signature']]
      const env = { ...process.env, secret: hook.secret, id: `${id}`, time: `${time}`, signatures: `${signatures}` }
      return execFileSync('sh', ['-c', shell], { cwd: folder, env }).toString().trim()
    }
    // The secret before the rotation also signs.
    expect([isGenuine(hook.secret, headers, body), await inShell(body)]).to.deep.equal([true, 'genuine'])
    expect([isGenuine(hook.secret, headers, `${body} `), await inShell(`${body} `)]).to.deep.equal([false, 'forged'])
    const old = { ...headers, 'webhook-timestamp': '1' }
    expect(isGenuine(hook.secret, old, body)).to.equal(false)
    await grove.close()
    await rm(folder, { recursive: true })
  })
})
