/** Stops mails of the inbox, by the link in one of them. Mail programs send the form with one click (RFC 8058). */

import { AppError } from '../../../base/errors.ts'
import type { Page, PageContext, PageResult } from '../../../pages/page-context.ts'

export async function showUnsubscribe(visit: PageContext): Promise<Page> {
  return unsubscribePage(visit, {})
}

export async function takeUnsubscribe(visit: PageContext): Promise<PageResult> {
  try {
    await visit.api.stopDigest({ body: { token: visit.query.get('token') || '-' } })
    return unsubscribePage(visit, { isDone: true })
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid_token') throw error
    return { ...unsubscribePage(visit, { says: `${error.message}.` }), status: 403 }
  }
}

interface State {
  readonly isDone?: boolean
  readonly says?: string
}

function unsubscribePage({ here, urls }: PageContext, { isDone = false, says }: State): Page {
  return {
    ...{ kind: 'page', place: {}, facts: { isDone, says, here } },
    head: { title: 'Stop mails of your inbox · Grove', noIndex: true },
    body: () => (
      <main id="main" class="sheet">
        <h1>Stop mails of your inbox</h1>
        {isDone ? (
          <p class="notice" role="status">
            You get no more mails of your inbox.
          </p>
        ) : (
          <>
            <p class={says === undefined ? undefined : 'notice'}>{says ?? 'You can turn them on again at any time.'}</p>
            <form method="post" action={here} class="fields">
              <button class="btn go" type="submit">
                Stop the mails
              </button>
            </form>
          </>
        )}
        <p class="why">
          <a href={urls.me('inbox')}>Inbox</a>
        </p>
      </main>
    ),
  }
}
