/** Fetches over TLS: the certificate must be that of the host name. */

import { expect } from 'chai'
import { failed, fetched, type Host, newCertificate, rawHost, tlsHost } from './scene.ts'

describe('a fetch over TLS', () => {
  let certificate: { readonly key: string; readonly cert: string }
  let host: Host
  let asked: (string | false | undefined)[][]
  const at = (name: string) => `https://${name}:${host.port}/`

  before(async () => {
    certificate = await newCertificate()
    host = await tlsHost(certificate, (req, res) => {
      asked.push([req.headers.host, 'servername' in req.socket ? String(req.socket.servername) : undefined])
      res.end('safe')
    })
  })
  beforeEach(() => {
    asked = []
  })
  after(async () => {
    await host.allClosed()
    await host.close()
  })

  it('verifies the name of the URL, not the IP address', async () => {
    for (const name of ['hooks.example', 'HOOKS.example', 'hooks.example.']) {
      const { body, address } = await fetched(at(name), {}, { ca: certificate.cert })
      expect([String(body), address]).to.deep.equal(['safe', '127.0.0.1'])
      expect(asked.pop()).to.deep.equal([`${name.toLowerCase()}:${host.port}`, 'hooks.example'])
    }
  })

  it('verifies an IP address that is in the URL', async () => {
    const { body, address } = await fetched(at('127.0.0.3'), {}, { ca: certificate.cert })
    expect([String(body), address]).to.deep.equal(['safe', '127.0.0.3'])
    const { code, message } = await failed(fetched(at('127.0.0.1'), {}, { ca: certificate.cert }))
    expect([code, message]).to.deep.equal([
      'tls',
      "A TLS connection to 127.0.0.1 failed: Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list: 127.0.0.3.",
    ])
  })

  it('sends nothing to a host whose certificate is of another name or unknown', async () => {
    const kept = process.env.NODE_TLS_REJECT_UNAUTHORIZED
    for (const setting of ['1', '0']) {
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = setting
      try {
        const other = await failed(fetched(at('other.example'), {}, { ca: certificate.cert }))
        expect([other.code, other.message]).to.deep.equal([
          'tls',
          "A TLS connection to other.example failed: Hostname/IP does not match certificate's altnames: Host: other.example. is not in the cert's altnames: DNS:hooks.example, IP Address:127.0.0.3.",
        ])
        const unknown = await failed(fetched(at('hooks.example'), { method: 'POST', body: 'secret' }))
        expect(unknown.code).to.equal('tls')
        expect(unknown.message).to.match(/^A TLS connection to hooks\.example failed: self-signed certificate\.$/)
      } finally {
        if (kept === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
        else process.env.NODE_TLS_REJECT_UNAUTHORIZED = kept
      }
    }
    expect(asked).to.deep.equal([])
  })

  it('says that a host does not speak TLS', async () => {
    for (const [answer, reason] of [
      ['HTTP/1.1 400 Bad Request\r\n\r\n', 'the host may not speak TLS 1.2 or newer at this port'],
      ['', 'the host closed the connection during the handshake'],
    ] as const) {
      const plain = await rawHost((socket) => socket.once('data', () => socket.end(answer)))
      const { code, message } = await failed(fetched(`https://hooks.example:${plain.port}/`))
      expect([code, message]).to.deep.equal(['tls', `A TLS connection to hooks.example failed: ${reason}.`])
      await plain.allClosed()
      await plain.close()
    }
  })
})
