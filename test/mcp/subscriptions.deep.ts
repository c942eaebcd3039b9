/** A client that wants to hear of changes: nothing is promised, and a subscription is taken with nothing in it. */

import { Client, type Transport } from '@modelcontextprotocol/client'
import { expect } from 'chai'
import { closeAfterFile } from '../support/processes.ts'
import { httpTransport, type Revision, stdioTransport, tokenOf, useScene } from './scene.ts'

const kinds = ['tools', 'prompts', 'resources'] as const

describe('a client that wants to hear of changes', () => {
  useScene()

  for (const [door, transportFor] of [
    ['HTTP', httpTransport],
    ['standard input', stdioTransport],
  ] as const)
    for (const revision of ['2026-07-28', '2025-11-25'] as const)
      it(`is promised none and meets no error, over ${door}, ${revision}`, async () => {
        const { client, errors } = await listening(transportFor(await tokenOf('write')), revision)
        const capabilities = client.getServerCapabilities()
        for (const kind of kinds) expect(capabilities?.[kind], kind).to.deep.equal({ listChanged: false })
        expect((await client.listTools()).tools).to.have.length(19)
        expect(errors).to.deep.equal([])
      })

  for (const [door, transportFor] of [
    ['HTTP', httpTransport],
    ['standard input', stdioTransport],
  ] as const)
    it(`has a subscription acknowledged with nothing in it, over ${door}`, async () => {
      const { client, errors } = await listening(transportFor(await tokenOf('read')), '2026-07-28')
      const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
      for (let time = 0; time < 3; time++) {
        const subscription = await client.listen(all)
        expect(subscription.honoredFilter).to.deep.equal({})
        await subscription.close()
      }
      expect(errors).to.deep.equal([])
    })

  async function listening(transport: Transport, revision: Revision) {
    const errors: Error[] = []
    const listChanged = Object.fromEntries(kinds.map((kind) => [kind, { onChanged: () => {} }]))
    const mode = revision === '2026-07-28' ? { pin: revision } : ('legacy' as const)
    const client = new Client({ name: 'test', version: '1.0.0' }, { listChanged, versionNegotiation: { mode } })
    client.onerror = (error) => errors.push(error)
    await client.connect(transport)
    closeAfterFile(() => client.close())
    return { client, errors }
  }
})
