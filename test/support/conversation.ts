/** A conversation about a pull request, for tests of copies and rebuilds. */

import { expecting } from './node.ts'
import type { Client } from './people.ts'

/**
 * Comments, answers, edits, deletes, resolves and reviews. The author of the pull request is `author`; a `reviewer` also
 * gives two verdicts, of which one is withdrawn.
 *
 * @param at the path of an open pull request
 */
export async function converse(at: string, author: Client, reviewer?: Client): Promise<void> {
  const other = reviewer ?? author
  const { pr } = (await author.get(at).then(expecting(200))).body
  const anchor = { commit: pr.source_commit, path: 'node.json', pointer: '/title' }
  const first = await other.post(`${at}/comments`, { text: 'Which whales?', anchor }).then(expecting(201))
  const thread: number = first.body.entry
  await author.post(`${at}/comments`, { text: 'The blue ones, @Ann.', thread }).then(expecting(201))
  await author.patch(`${at}/comments/${thread + 1}`, { text: 'All of them.' }).then(expecting(200))
  await other.post(`${at}/comments`, { text: 'A mistake.' }).then(expecting(201))
  await other.delete(`${at}/comments/${thread + 2}`).then(expecting(204))
  await other.post(`${at}/comments`, { text: 'Done?' }).then(expecting(201))
  await author.patch(`${at}/threads/${thread + 3}`, { resolved: true }).then(expecting(200))
  await author.patch(at, { title: `${pr.title}, discussed` }).then(expecting(200))
  const review = { expected_source_commit: pr.source_commit, comments: [{ text: 'Here.' }] }
  for (const verdict of reviewer ? ['request_changes', 'approve', 'request_changes'] : ['comment'])
    await other.post(`${at}/reviews`, { ...review, verdict, text: 'Read.' }).then(expecting(201))
  const { reviews } = (await other.get(`${at}/reviews`).then(expecting(200))).body
  const last = reviews.at(-1).entry
  if (reviewer) await reviewer.patch(`${at}/reviews/${last}`, { state: 'withdrawn' }).then(expecting(200))
}
