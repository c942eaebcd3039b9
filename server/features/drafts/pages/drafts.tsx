/** The drafts of the signed-in user. */

import { hidden } from '../../../pages/kit/controls.tsx'
import { Row, Rows } from '../../../pages/kit/parts.tsx'
import { meFrame } from '../../../pages/kit/scene-frames.tsx'
import { act, settings } from '../../../pages/kit/settings.tsx'
import { plural, When } from '../../../pages/parts/dates.tsx'
import { Pages, pageOffset } from '../../../pages/parts/paging.tsx'

/** Drafts on a page. */
const size = 50

export const draftsPage = settings({
  frame: meFrame('drafts'),
  title: 'Drafts',
  says: { discard: 'The draft is discarded.' },
  async read({ api, query }) {
    const offset = pageOffset(query.get('from'))
    const [org_id = '', draft_id = ''] = (query.get('show') ?? '').split('/')
    const shown = draft_id && (await api.getDraft({ path: { org_id, draft_id } }).catch(() => undefined))
    return { shown, ...(await api.listDrafts({ query: { limit: size, offset } })) }
  },
  acts: {
    discard: act('Discard', { org_id: hidden, draft_id: hidden }, ({ api }, path) => api.deleteDraft({ path })),
  },
  view: ({ drafts, total, offset, shown }, { form, visit: { urls } }) => (
    <>
      <p class="why">
        {plural(total, 'draft')}. The editor keeps your text here until you save it, for 90 days. Only you see it here;
        owners of an organisation can read its drafts with Git.
      </p>
      {shown && (
        // A page that was deleted has no editor any more.
        <label>
          Text of the draft {shown.title.trim()}
          <textarea rows={12} readonly dir="auto">{`\n${shown.text_content}`}</textarea>
        </label>
      )}
      <Rows of={drafts}>
        {({ org_id, org_name, saved_at, ...draft }) => (
          <Row
            title={
              <a href={urls.draft(org_id, draft)}>
                <strong>{draft.title.trim() || 'Without a title'}</strong>
              </a>
            }
            facts={
              <>
                {draft.is_new ? 'new page' : 'changes'} in {org_name} · <When time={saved_at} />
              </>
            }
          >
            <a class="btn small" href={`${urls.me('drafts')}?show=${org_id}/${draft.id}`}>
              Show the text
            </a>
            {form('discard', { values: { org_id, draft_id: draft.id }, of: draft.title.trim() || 'the draft' })}
          </Row>
        )}
      </Rows>
      <Pages base={urls.me('drafts')} {...{ offset, size, total }} />
    </>
  ),
})
