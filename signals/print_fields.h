/* print_fields.h -- the field names of every signal's payload, in order. Included by print.c alone. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A line per struct of gsn.def: a test checks that the fields of each fill the struct without a gap. */
FIELDS(continueb, F(continueb, work))
FIELDS(link_rep, F(link_rep, node), F(link_rep, epoch), F(link_rep, sender_class),
       F(link_rep, threads))
FIELDS(tamper_ord, F(tamper_ord, number), F(tamper_ord, extra))
FIELDS(read_config_req, F(read_config_req, sender_data))
FIELDS(read_config_conf, F(read_config_conf, sender_data))
FIELDS(sttor, F(sttor, sender_data), F(sttor, phase), F(sttor, start_type))
FIELDS(sttorry, F(sttorry, sender_data), F(sttorry, phase))
FIELDS(node_state_rep, F(node_state_rep, start_level), F(node_state_rep, start_phase),
       F(node_state_rep, master), F(node_state_rep, started))
FIELDS(api_failreq, F(api_failreq, sender_data), F(api_failreq, node))
FIELDS(api_failconf, F(api_failconf, sender_data), F(api_failconf, node))
FIELDS(node_failrep, F(node_failrep, failure_no), F(node_failrep, nodes))
FIELDS(tc_drain_req, F(tc_drain_req, sender_data))
FIELDS(tc_drain_conf, F(tc_drain_conf, sender_data))
FIELDS(cm_regreq, F(cm_regreq, attempt), F(cm_regreq, version), F(cm_regreq, generation),
       F(cm_regreq, candidate))
FIELDS(cm_regconf, F(cm_regconf, attempt), F(cm_regconf, incarnation), F(cm_regconf, president),
       F(cm_regconf, dynamic_id), F(cm_regconf, members), F(cm_regconf, expected))
FIELDS(cm_regref, F(cm_regref, attempt), F(cm_regref, cause), F(cm_regref, candidate),
       F(cm_regref, president))
FIELDS(cm_nodeinforeq, F(cm_nodeinforeq, incarnation), F(cm_nodeinforeq, dynamic_id),
       F(cm_nodeinforeq, version), F(cm_nodeinforeq, ldm_count), F(cm_nodeinforeq, tc_count))
FIELDS(cm_nodeinfoconf, F(cm_nodeinfoconf, incarnation), F(cm_nodeinfoconf, dynamic_id),
       F(cm_nodeinfoconf, version), F(cm_nodeinfoconf, ldm_count), F(cm_nodeinfoconf, tc_count))
FIELDS(cm_nodeinforef, F(cm_nodeinforef, incarnation), F(cm_nodeinforef, cause))
FIELDS(cm_add_req, F(cm_add_req, incarnation), F(cm_add_req, phase), F(cm_add_req, node),
       F(cm_add_req, dynamic_id))
FIELDS(cm_add_conf, F(cm_add_conf, incarnation), F(cm_add_conf, phase), F(cm_add_conf, node))
FIELDS(cm_heartbeat, F(cm_heartbeat, incarnation))
FIELDS(cm_leave_rep, F(cm_leave_rep, incarnation))
FIELDS(members_rep, F(members_rep, incarnation), F(members_rep, president),
       F(members_rep, dynamic_id), F(members_rep, members))
FIELDS(cntr_start_req, F(cntr_start_req, incarnation))
FIELDS(cntr_start_conf, F(cntr_start_conf, incarnation), F(cntr_start_conf, start_type))
FIELDS(cntr_waitrep, F(cntr_waitrep, incarnation), F(cntr_waitrep, point))
FIELDS(cntr_gorep, F(cntr_gorep, incarnation), F(cntr_gorep, point))
FIELDS(cntr_started_rep, F(cntr_started_rep, incarnation))
FIELDS(cntr_stop_rep, F(cntr_stop_rep, flags), F(cntr_stop_rep, level))
FIELDS(create_frag_req, F(create_frag_req, sender_data), F(create_frag_req, balance),
       F(create_frag_req, fragment_count))
FIELDS(create_frag_conf, F(create_frag_conf, sender_data), F(create_frag_conf, fragment_count))
FIELDS(create_frag_ref, F(create_frag_ref, sender_data), F(create_frag_ref, error))
FIELDS(api_regreq, F(api_regreq, sender_data), F(api_regreq, version), F(api_regreq, generation))
FIELDS(api_regconf, F(api_regconf, sender_data), F(api_regconf, version),
       F(api_regconf, heartbeat_ms), F(api_regconf, start_level), F(api_regconf, start_phase),
       F(api_regconf, president), F(api_regconf, nodegroup), F(api_regconf, tc_count),
       F(api_regconf, dynamic_id), F(api_regconf, started))
FIELDS(api_regref, F(api_regref, sender_data), F(api_regref, error))
FIELDS(tcseizereq, F(tcseizereq, sender_data))
FIELDS(tcseizeconf, F(tcseizeconf, sender_data), F(tcseizeconf, tc_connect))
FIELDS(tcseizeref, F(tcseizeref, sender_data), F(tcseizeref, error))
FIELDS(tcreleasereq, F(tcreleasereq, tc_connect), F(tcreleasereq, sender_data))
FIELDS(tcreleaseconf, F(tcreleaseconf, sender_data))
FIELDS(tcreleaseref, F(tcreleaseref, sender_data), F(tcreleaseref, error))
FIELDS(tckeyreq, F(tckeyreq, tc_connect), F(tckeyreq, api_op), F(tckeyreq, table_id),
       F(tckeyreq, schema_version), F(tckeyreq, request_info), F(tckeyreq, transid1),
       F(tckeyreq, transid2))
FIELDS(tckeyconf, F(tckeyconf, api_connect), F(tckeyconf, transid1), F(tckeyconf, transid2),
       F(tckeyconf, flags), F(tckeyconf, gci_hi), F(tckeyconf, gci_lo))
FIELDS(tckeyref, F(tckeyref, api_op), F(tckeyref, transid1), F(tckeyref, transid2),
       F(tckeyref, error))
FIELDS(tc_commitreq, F(tc_commitreq, tc_connect), F(tc_commitreq, transid1),
       F(tc_commitreq, transid2))
FIELDS(tc_commitconf, F(tc_commitconf, api_connect), F(tc_commitconf, transid1),
       F(tc_commitconf, transid2), F(tc_commitconf, gci_hi), F(tc_commitconf, gci_lo))
FIELDS(tc_commitref, F(tc_commitref, api_connect), F(tc_commitref, transid1),
       F(tc_commitref, transid2), F(tc_commitref, error))
FIELDS(tcrollbackreq, F(tcrollbackreq, tc_connect), F(tcrollbackreq, transid1),
       F(tcrollbackreq, transid2))
FIELDS(tcrollbackconf, F(tcrollbackconf, api_connect), F(tcrollbackconf, transid1),
       F(tcrollbackconf, transid2))
FIELDS(tcrollbackref, F(tcrollbackref, api_connect), F(tcrollbackref, transid1),
       F(tcrollbackref, transid2), F(tcrollbackref, error))
FIELDS(tcrollbackrep, F(tcrollbackrep, api_connect), F(tcrollbackrep, transid1),
       F(tcrollbackrep, transid2), F(tcrollbackrep, error), F(tcrollbackrep, api_op))
FIELDS(transid_ai, F(transid_ai, api_op), F(transid_ai, transid1), F(transid_ai, transid2),
       F(transid_ai, rows), F(transid_ai, fragment_id))
FIELDS(lqhkeyreq, F(lqhkeyreq, tc_op), F(lqhkeyreq, request_info), F(lqhkeyreq, table_id),
       F(lqhkeyreq, schema_version), F(lqhkeyreq, fragment_id), F(lqhkeyreq, hash),
       F(lqhkeyreq, transid1), F(lqhkeyreq, transid2), F(lqhkeyreq, tc_ref), F(lqhkeyreq, api_ref),
       F(lqhkeyreq, api_op), F(lqhkeyreq, chain), F(lqhkeyreq, prev_ref), F(lqhkeyreq, prev_op),
       F(lqhkeyreq, row_page), F(lqhkeyreq, row_slot))
FIELDS(lqhkeyconf, F(lqhkeyconf, tc_op), F(lqhkeyconf, transid1), F(lqhkeyconf, transid2),
       F(lqhkeyconf, lqh_op), F(lqhkeyconf, read_words))
FIELDS(lqhkeyref, F(lqhkeyref, tc_op), F(lqhkeyref, transid1), F(lqhkeyref, transid2),
       F(lqhkeyref, error), F(lqhkeyref, prev_ref), F(lqhkeyref, prev_op))
FIELDS(commit_train, F(commit_train, tc_ref), F(commit_train, gci_hi), F(commit_train, gci_lo),
       F(commit_train, flags))
FIELDS(committed_train, F(committed_train, gci_hi), F(committed_train, gci_lo))
FIELDS(complete_train, F(complete_train, tc_ref))
FIELDS(completed_train, F(completed_train, unused))
FIELDS(abort_train, F(abort_train, tc_ref))
FIELDS(aborted_train, F(aborted_train, unused))
FIELDS(scan_tabreq, F(scan_tabreq, tc_connect), F(scan_tabreq, api_scan), F(scan_tabreq, table_id),
       F(scan_tabreq, schema_version), F(scan_tabreq, request_info), F(scan_tabreq, batch_rows),
       F(scan_tabreq, batch_bytes), F(scan_tabreq, parallelism), F(scan_tabreq, transid1),
       F(scan_tabreq, transid2))
FIELDS(scan_tabconf, F(scan_tabconf, api_scan), F(scan_tabconf, transid1),
       F(scan_tabconf, transid2), F(scan_tabconf, flags))
FIELDS(scan_tabref, F(scan_tabref, api_scan), F(scan_tabref, transid1), F(scan_tabref, transid2),
       F(scan_tabref, error))
FIELDS(scan_nextreq, F(scan_nextreq, tc_connect), F(scan_nextreq, api_scan),
       F(scan_nextreq, transid1), F(scan_nextreq, transid2), F(scan_nextreq, flags))
FIELDS(scan_fragreq, F(scan_fragreq, tc_frag), F(scan_fragreq, table_id),
       F(scan_fragreq, schema_version), F(scan_fragreq, fragment_id),
       F(scan_fragreq, request_info), F(scan_fragreq, batch_rows), F(scan_fragreq, batch_bytes),
       F(scan_fragreq, transid1), F(scan_fragreq, transid2), F(scan_fragreq, api_ref),
       F(scan_fragreq, api_scan))
FIELDS(scan_fragconf, F(scan_fragconf, tc_frag), F(scan_fragconf, transid1),
       F(scan_fragconf, transid2), F(scan_fragconf, lqh_scan), F(scan_fragconf, rows),
       F(scan_fragconf, flags))
FIELDS(scan_fragref, F(scan_fragref, tc_frag), F(scan_fragref, transid1),
       F(scan_fragref, transid2), F(scan_fragref, error))
FIELDS(scan_frag_nextreq, F(scan_frag_nextreq, lqh_scan), F(scan_frag_nextreq, tc_frag),
       F(scan_frag_nextreq, transid1), F(scan_frag_nextreq, transid2), F(scan_frag_nextreq, flags))
FIELDS(create_table_req, F(create_table_req, sender_data))
FIELDS(create_table_conf, F(create_table_conf, sender_data), F(create_table_conf, table_id),
       F(create_table_conf, version))
FIELDS(create_table_ref, F(create_table_ref, sender_data), F(create_table_ref, error),
       F(create_table_ref, master_node), F(create_table_ref, column))
FIELDS(drop_table_req, F(drop_table_req, sender_data), F(drop_table_req, table_id),
       F(drop_table_req, version))
FIELDS(drop_table_conf, F(drop_table_conf, sender_data))
FIELDS(drop_table_ref, F(drop_table_ref, sender_data), F(drop_table_ref, error),
       F(drop_table_ref, master_node))
FIELDS(get_tabinfo_req, F(get_tabinfo_req, sender_data), F(get_tabinfo_req, table_id))
FIELDS(get_tabinfo_conf, F(get_tabinfo_conf, sender_data), F(get_tabinfo_conf, table_id),
       F(get_tabinfo_conf, version))
FIELDS(get_tabinfo_ref, F(get_tabinfo_ref, sender_data), F(get_tabinfo_ref, error))
FIELDS(list_tables_req, F(list_tables_req, sender_data), F(list_tables_req, first_id))
FIELDS(list_tables_conf, F(list_tables_conf, sender_data), F(list_tables_conf, count),
       F(list_tables_conf, next_id))
FIELDS(list_tables_ref, F(list_tables_ref, sender_data), F(list_tables_ref, error))
FIELDS(local_table_add_req, F(local_table_add_req, sender_data), F(local_table_add_req, table_id),
       F(local_table_add_req, version))
FIELDS(local_table_add_conf, F(local_table_add_conf, sender_data),
       F(local_table_add_conf, table_id))
FIELDS(local_table_add_ref, F(local_table_add_ref, sender_data), F(local_table_add_ref, table_id),
       F(local_table_add_ref, error))
FIELDS(local_table_state_req, F(local_table_state_req, sender_data),
       F(local_table_state_req, table_id), F(local_table_state_req, order))
FIELDS(local_table_state_conf, F(local_table_state_conf, sender_data),
       F(local_table_state_conf, table_id), F(local_table_state_conf, order))
FIELDS(schema_prepare_req, F(schema_prepare_req, trans_id), F(schema_prepare_req, operation),
       F(schema_prepare_req, table_id), F(schema_prepare_req, version))
FIELDS(schema_prepare_conf, F(schema_prepare_conf, trans_id))
FIELDS(schema_prepare_ref, F(schema_prepare_ref, trans_id), F(schema_prepare_ref, error))
FIELDS(schema_step_req, F(schema_step_req, trans_id), F(schema_step_req, step))
FIELDS(schema_step_conf, F(schema_step_conf, trans_id), F(schema_step_conf, step))
FIELDS(event_rep, F(event_rep, type), F(event_rep, node), F(event_rep, data))
FIELDS(event_subscribe_req, F(event_subscribe_req, sender_data), F(event_subscribe_req, level))
FIELDS(event_subscribe_conf, F(event_subscribe_conf, sender_data))
FIELDS(dump_state_ord, F(dump_state_ord, count), F(dump_state_ord, data))
FIELDS(node_status_req, F(node_status_req, sender_data))
FIELDS(node_status_conf, F(node_status_conf, sender_data), F(node_status_conf, start_level),
       F(node_status_conf, start_phase), F(node_status_conf, start_type),
       F(node_status_conf, nodegroup), F(node_status_conf, president),
       F(node_status_conf, dynamic_id), F(node_status_conf, version),
       F(node_status_conf, connected))
FIELDS(memory_report_req, F(memory_report_req, sender_data))
FIELDS(memory_report_conf, F(memory_report_conf, sender_data), F(memory_report_conf, page_size),
       F(memory_report_conf, groups))
FIELDS(stop_req, F(stop_req, sender_data), F(stop_req, flags), F(stop_req, client_ref))
FIELDS(stop_conf, F(stop_conf, sender_data))
FIELDS(stop_ref, F(stop_ref, sender_data), F(stop_ref, error))
FIELDS(start_ord, F(start_ord, unused))
