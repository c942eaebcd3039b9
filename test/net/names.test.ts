/** Host names: resolved once, judged by all of their IP addresses, and connected to as judged. */

import { Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { expect } from 'chai'
import { newAllowList } from '../../server/base/allow-list.ts'
import { checkTarget } from '../../server/domain/net/guarded-fetch.ts'
import { newGate } from '../support/gate.ts'
import { codeOf, failed, fetched, type Host, httpHost, open, patient } from './scene.ts'

const closed = newAllowList([])

describe('a host name', () => {
  let host: Host
  let asked: string[]
  let local: string | undefined
  const at = (name: string) => `http://${name}:${host.port}/`
  const resolving =
    (...addresses: string[]) =>
    async () =>
      addresses.map((address) => ({ address }))

  before(async () => {
    host = await httpHost((req, res) => {
      asked.push(`${req.method} ${req.headers.host} ${req.url}`)
      local = req.socket.localAddress
      res.end('here')
    }, '0.0.0.0')
  })
  beforeEach(() => {
    asked = []
  })
  after(() => host.close())

  it('is refused if one of its IP addresses is not public, and the message names none', async () => {
    for (const addresses of [
      ['127.0.0.1'],
      ['1.1.1.1', '127.0.0.1'],
      ['127.0.0.1', '1.1.1.1'],
      ['1.1.1.1', '2606:4700::1', '169.254.169.254'],
      ['::1'],
      ['::ffff:127.0.0.1'],
      ['fe80::1%eth0'],
      ['64:ff9b::7f00:1'],
      ['0.0.0.0'],
      ['not an address'],
      [''],
    ]) {
      const error = await failed(fetched(at('hooks.example'), {}, { allow: closed, resolve: resolving(...addresses) }))
      expect({ code: error.code, message: error.message }, addresses.join()).to.deep.equal({
        code: 'refused_address',
        message:
          'hooks.example has an IP address that is not public. Use a public host, or ask the operator to open this one with FETCH_ALLOW.',
      })
    }
    expect([asked, host.accepted.length]).to.deep.equal([[], 0])
  })

  it('of this machine is refused, as the machine resolves it', async () => {
    for (const name of ['localhost', 'localhost.', 'LOCALHOST']) {
      const { resolve: _, ...rules } = { ...open, allow: closed }
      const check = checkTarget({ url: at(name), totalMs: patient.totalMs }, rules)
      // Some resolvers do not know the name with a dot.
      expect(await codeOf(check), name).to.be.oneOf(
        name.endsWith('.') ? ['refused_address', 'dns'] : ['refused_address'],
      )
    }
    expect(host.accepted.length).to.equal(0)
  })

  it('is connected to at the IP address that was judged, also if it changes', async () => {
    const answers = [['127.0.0.2'], ['127.0.0.1']]
    let times = 0
    const rules = {
      allow: newAllowList(['127.0.0.2']),
      resolve: async () => (answers[times++] ?? []).map((address) => ({ address })),
    }
    const first = await fetched(at('hooks.example'), {}, rules)
    expect([first.address, String(first.body), times]).to.deep.equal(['127.0.0.2', 'here', 1])
    expect(local).to.equal('127.0.0.2')
    expect(await codeOf(fetched(at('hooks.example'), {}, rules))).to.equal('refused_address')
    expect([asked.length, times]).to.deep.equal([1, 2])
  })

  it('is resolved once, and the first IP address is used', async () => {
    const names: string[] = []
    const resolve = async (name: string) => {
      names.push(name)
      return [{ address: '127.0.0.4' }, { address: '127.0.0.5' }]
    }
    expect((await fetched(at('Hooks.Example'), {}, { resolve })).address).to.equal('127.0.0.4')
    expect(names).to.deep.equal(['hooks.example'])
    expect(asked).to.deep.equal([`GET hooks.example:${host.port} /`])
  })

  it('is not resolved if it is an IP address', async () => {
    const resolve = () => Promise.reject(new Error('An IP address has to be used as it is'))
    for (const name of ['127.0.0.1', '2130706433', '127.1', '0x7f.1']) {
      expect((await fetched(at(name), {}, { resolve })).address).to.equal('127.0.0.1')
      expect(await codeOf(fetched(at(name), {}, { allow: closed, resolve }))).to.equal('refused_address')
    }
  })

  it('of the allow list may have any IP address without a zone', async () => {
    const allow = newAllowList(['hooks.internal'])
    const from = (name: string, ...addresses: string[]) =>
      fetched(at(name), {}, { allow, resolve: resolving(...addresses) })
    expect((await from('hooks.internal', '127.0.0.1', '10.0.0.1')).status).to.equal(200)
    expect((await from('HOOKS.internal.', '127.0.0.1')).status).to.equal(200)
    expect((await from('hooks.internal', '::ffff:127.0.0.1')).status).to.equal(200)
    expect(await codeOf(from('a.hooks.internal', '127.0.0.1'))).to.equal('refused_address')
    expect(await codeOf(from('hooks.internal', 'fe80::1%eth0'))).to.equal('refused_address')
    expect(await codeOf(from('hooks.internal', '127.0.0.1', 'x'))).to.equal('refused_address')
    expect(asked.length).to.equal(3)
  })

  it('never leads to the service itself, also if the allow list has it', async () => {
    const allow = newAllowList(['hooks.internal', '127.0.0.0/8', '::1'])
    const machine = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
    const own = { ports: [host.port], urls: [] }
    for (const address of ['127.0.0.1', '127.0.0.9', '0.0.0.0', '::1', '::', '::ffff:127.0.0.1', ...machine]) {
      const error = await failed(fetched(at('hooks.internal'), {}, { allow, own, resolve: resolving(address) }))
      expect(error.message, address).to.match(/^The URL is that of this service/)
    }
    const named = { ports: [], urls: [`http://127.0.0.7:${host.port}/base`] }
    const error = await failed(
      fetched(at('hooks.internal'), {}, { allow, own: named, resolve: resolving('127.0.0.7') }),
    )
    expect(error.code).to.equal('refused_address')
    expect(asked).to.deep.equal([])
  })

  it('that does not exist is an error of dns', async () => {
    const message = 'The name gone.example has no IP address that can be found. Check how it is written.'
    for (const resolve of [
      async () => [],
      () => Promise.reject(new Error('ENOTFOUND')),
      () => {
        throw new Error('at once')
      },
    ]) {
      const { code, message: said } = await failed(fetched(at('gone.example'), {}, { resolve }))
      expect([code, said]).to.deep.equal(['dns', message])
    }
  })

  it('that is not resolved in time is an error of dns, also if the resolver fails later', async () => {
    const gate = newGate()
    const resolve = async () => {
      await gate.opened
      throw new Error('too late')
    }
    for (const times of [
      { connectMs: 20, totalMs: 300_000 },
      { connectMs: 300_000, totalMs: 20 },
    ]) {
      const limits = { keptBytes: 1, readBytes: 1, excess: 'cut' as const, ...times }
      const { code, message } = await failed(fetched(at('slow.example'), { limits }, { resolve }))
      expect([code, message]).to.deep.equal([
        'dns',
        'The name slow.example could not be resolved within 0.02 seconds. Its name server may be down.',
      ])
    }
    gate.open()
  })

  it('is checked without a request', async () => {
    const check = (url: string, ...addresses: string[]) =>
      checkTarget({ url, totalMs: patient.totalMs }, { ...open, allow: closed, resolve: resolving(...addresses) })
    await check('https://hooks.example/', '1.1.1.1', '2606:4700::1')
    expect(await codeOf(check('https://hooks.example/', '1.1.1.1', '10.0.0.1'))).to.equal('refused_address')
    expect(await codeOf(check('https://hooks.example/'))).to.equal('dns')
    expect((await failed(check('https://hooks.example/#a', '1.1.1.1'))).message).to.match(/has a fragment/)
    const silent = { ...open, resolve: () => new Promise<never>(() => {}) }
    expect(await codeOf(checkTarget({ url: 'https://hooks.example/', totalMs: 20 }, silent))).to.equal('dns')
  })

  it('gets nothing if its connection has another IP address than the one judged', async () => {
    const own = Object.getOwnPropertyDescriptor(Socket.prototype, '_getpeername') ?? {}
    for (const address of ['10.0.0.1', undefined]) {
      // Sockets read their property `remoteAddress` from it.
      Object.defineProperty(Socket.prototype, '_getpeername', { ...own, value: () => ({ address }) })
      try {
        expect(await codeOf(fetched(at('hooks.example'), { method: 'POST', body: 'secret' }))).to.equal(
          'refused_address',
        )
      } finally {
        Object.defineProperty(Socket.prototype, '_getpeername', own)
      }
    }
    await host.allClosed()
    expect(asked).to.deep.equal([])
  })
})
