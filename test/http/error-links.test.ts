/** Errors link to the page of error codes, which has an entry for each code. */

import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { statusOf } from '../../server/base/errors.ts'
import { client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('the link of an error', () => {
  const { grove } = useWorld({}, { publicUrl: 'https://grove.example/notes' })

  it('leads to the entry of its code, below the path of PUBLIC_URL', async () => {
    const answer = await fetch(`${grove.url}/no-such-path`)
    expect(await answer.json()).to.include({ code: 'not_found', link: '/notes/docs/errors#not_found' })
    const { body: page, headers } = await client(grove).get('/docs/errors')
    expect(headers['content-type']).to.equal('text/html; charset=utf-8')
    expect(String(page)).to.include('<h3 id="not_found">')
  })

  it('leads to a page next to the other documents for clients, whose links and anchors are there', async () => {
    const pages = new Map<string, string>()
    for (const name of ['guide', 'errors', 'events', 'limits', 'git', 'permissions', 'types']) {
      const { status, body } = await client(grove).get(`/docs/${name}`)
      expect(status, name).to.equal(200)
      pages.set(name, String(body))
    }
    const broken: string[] = []
    for (const [name, html] of pages)
      for (const [, href = ''] of html.matchAll(/href="((?![a-z]+:)[^"]*)"/g)) {
        const [page = '', anchor] = href.split('#')
        const target = page === '' ? html : pages.get(page)
        const isThere =
          target === undefined ? ['..', '../docs', '../openapi.json', 'favicon-32x32.png'].includes(page) : true
        if (!isThere || (anchor !== undefined && !target?.includes(`id="${anchor}"`))) broken.push(`${name}: ${href}`)
      }
    expect(broken).to.deep.equal([])
    for (const [name, html] of pages) expect(html, name).to.include('<a href="..">Grove</a>')
  })

  it('is also in answers to what is not HTTP', async () => {
    const { hostname, port } = new URL(grove.url)
    const socket = connect(Number(port), hostname)
    socket.end('This is not HTTP\r\n\r\n')
    const answer = await text(socket)
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).to.include({ link: '/notes/docs/errors#bad_request' })
  })

  it('has an entry for each code, below its status, and for no other one', async () => {
    const sections = (await readFile('spec/errors.md', 'utf8')).split(/^## (\d{3}) /m).slice(1)
    const listed: Record<string, number> = {}
    for (let at = 0; at < sections.length; at += 2)
      for (const [, code = '', first = ''] of (sections[at + 1] ?? '').matchAll(/^### (\w+)\n\n(.+)$/gm)) {
        listed[code] = Number(sections[at])
        expect(first, code).to.match(/\.\)?$/)
      }
    expect(listed).to.deep.equal(statusOf)
  })
})
