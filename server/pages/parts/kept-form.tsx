/** A form of a visitor whose session has ended. All that was sent can be sent again. */

import type { Page, PageContext } from '../page-context.ts'

export function keptForm({ form }: PageContext, action: string): Page {
  return {
    ...{ kind: 'page', status: 401, facts: undefined, place: {} },
    head: { title: 'Your session has ended', noIndex: true },
    body: () => (
      <main id="main" class="page narrow">
        <h1>Your session has ended</h1>
        <p class="problem" role="alert">
          Nothing was saved. Sign in again in another tab, then send your input again. It is still here.
        </p>
        <form method="post" action={action}>
          {[...form].map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <button class="btn go" type="submit">
            Send again
          </button>
        </form>
      </main>
    ),
  }
}
