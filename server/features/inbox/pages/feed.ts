/** The inbox as an Atom feed. */

import type { PageContext, Text } from '../../../pages/page-context.ts'
import { xml } from '../../../pages/text/escape.ts'
import { linkOf, subjectOf, wordsOf } from './inbox-words.ts'

/** Answers the inbox of the user whose feed token is in the URL. The visitor need not be signed in. */
export async function showInboxFeed({ api, urls, query }: PageContext): Promise<Text> {
  const { name, items } = await api.getInboxFeed({ query: { token: query.get('token') || '-' } })
  const self = `${urls.base}/inbox`
  const entries = items.map((item) => {
    const title = `${subjectOf(item)}: ${wordsOf(item)}`
    const by = item.actors.map((actor) => `<author><name>${xml(actor.name || 'Grove')}</name></author>`).join('')
    return [
      `<entry><id>${xml(`${self}/${item.org_id}/${item.id}`)}</id><title>${xml(title)}</title>`,
      `<link href="${xml(urls.absolute(linkOf(urls, item)))}"/>${by}`,
      `<updated>${item.last_event.at}</updated><summary>${xml(item.org_name)}</summary></entry>`,
    ].join('')
  })
  const lines = [
    '<?xml version="1.0" encoding="utf-8"?>',
    `<feed xmlns="http://www.w3.org/2005/Atom"><id>${xml(self)}</id><title>${xml(`Inbox of ${name}`)}</title>`,
    `<link href="${xml(urls.absolute(urls.me('inbox')))}"/>`,
    `<updated>${items[0]?.last_event.at ?? '1970-01-01T00:00:00Z'}</updated><author><name>Grove</name></author>`,
    ...entries,
    '</feed>',
  ]
  return { kind: 'text', type: 'application/atom+xml; charset=utf-8', text: `${lines.join('\n')}\n` }
}
