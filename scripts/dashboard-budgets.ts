/** The largest sizes of the parts of the dashboard, in kilobytes after gzip. */
export const budgetsKb = { initial: 190, css: 20, page: 40 }
