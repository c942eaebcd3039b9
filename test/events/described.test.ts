/** The examples of spec/events.md. */
import { readFile } from 'node:fs/promises'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import document from '../../spec/openapi.json' with { type: 'json' }
import { until } from '../support/until.ts'
import { ann, appendSome, eventsOf, grove, useScene } from './scene.ts'

describe('the example of an event', () => {
  it('is that of the API description', async () => {
    const page = await readFile('spec/events.md', 'utf8')
    const [, shown = ''] = /```json\n(.*?)```/s.exec(page) ?? []
    const [listed] = document.components.examples.EventPage.value.events
    expect(JSON.parse(shown)).to.deep.equal(listed)
  })
})

describe('the example that follows events', () => {
  useScene()

  it('yields each event with its cursor', async () => {
    const page = await readFile('spec/events.md', 'utf8')
    const [, source = ''] = /```js\n(.*?)```/s.exec(page) ?? []
    const follow = runInNewContext(`${source}; follow`, { fetch, TextDecoderStream, URL })
    const url = grove.url + eventsOf(ann.org, '?types=webhook.*')
    const seen: { readonly cursor: string; readonly id: string }[] = []
    let blocks = 0
    const reading = async (cursor?: string) => {
      for await (const block of follow(url, ann.session.accessToken, cursor)) {
        blocks++
        if (block.event !== undefined) seen.push({ cursor: block.cursor, id: block.event.id })
        if (seen.length === 2) return
      }
    }
    const first = reading()
    await until(() => blocks === 1)
    const ids = [...(await appendSome(ann.org, 1)), ...(await appendSome(ann.org, 1))]
    await first
    expect(seen.map(({ id }) => id)).to.deep.equal(ids)
    const [{ cursor } = { cursor: '' }] = seen.splice(0)
    seen.push({ cursor, id: ids[0] ?? '' })
    await reading(cursor)
    expect(seen.map(({ id }) => id)).to.deep.equal(ids)
  })

  it('continues after the last cursor when the connection breaks, and ends at 410', async () => {
    const page = await readFile('spec/events.md', 'utf8')
    const [source = '', loop = ''] = [...page.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code ?? '')
    const asked: unknown[] = []
    const taken: unknown[] = []
    const fetch = (_: string, { headers }: { readonly headers: Record<string, string> }) => {
      asked.push(headers['last-event-id'])
      if (asked.length > 2) return Promise.resolve(new Response('gone', { status: 410 }))
      const bytes = new TextEncoder().encode(`id: ${asked.length}\ndata: "${asked.length}"\n\n`)
      let isSent = false
      const pull = (controller: ReadableStreamDefaultController) => {
        if (isSent) controller.error(new Error('terminated'))
        else controller.enqueue(bytes)
        isSent = true
      }
      return Promise.resolve(new Response(new ReadableStream({ pull }, { highWaterMark: 0 })))
    }
    const context = {
      ...{ fetch, TextDecoderStream, url: '', token: '', take: (event: unknown) => taken.push(event) },
      ...{ setTimeout: (done: () => void) => setImmediate(done), console: { error: () => {} } },
    }
    const running: Promise<void> = runInNewContext(`${source}; (async () => { ${loop} })()`, context)
    expect(await running.catch(({ message }) => message)).to.equal('410 gone')
    expect({ asked, taken }).to.deep.equal({ asked: [undefined, '1', '2'], taken: ['1', '2'] })
  })
})
